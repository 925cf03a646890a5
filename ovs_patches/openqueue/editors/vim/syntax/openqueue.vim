" Vim syntax of OpenQueue, queueing policies of switches (docs/reference/openqueue.md).
" tests/python/test_openqueue_words.py holds its words against the compiler's.
if exists("b:current_syntax")
  finish
endif

syn case match
syn keyword openqueueStatement after as by const egress else empty enter every for
syn keyword openqueueStatement in ingress inline on openqueue select serve set state strict
syn keyword openqueueStatement switch then turn use when
syn keyword openqueueAction drop mark notify release modify upstream
syn keyword openqueueMaker Queue Buffer Port
syn keyword openqueueOperator and or not true false chance min max wire
syn keyword openqueueObject packet now MAX_FRAME PORTS queue buffer port
syn keyword openqueueField contained admState arrival arrivals bytes class currQueue currSize delay dscp ecn flow held
syn keyword openqueueField contained hol in index lineRate out packets processing quantum rate schedState
syn keyword openqueueField contained size slack strict tx value weightAdm weightSched xoff xon
syn keyword openqueueProperty contained admPrio congAction congestion countAbove cycle dropFirst dropFrom postAdmAct postSchedAct procPrio quantum
syn keyword openqueueProperty contained queuePrio schedPrio strict
syn keyword openqueueLibrary crr dwrr fifo largest_value longest lqf maxqf minqf newest oldest
syn keyword openqueueLibrary rfifo rr rsrpt shortest smallest_value sqf srpt strict_priority tailDrop wrr
syn match openqueueMember "\.\s*\h\w*" contains=openqueueField,openqueueProperty
syn match openqueueNumber "\<\d\+\(\.\d\+\)\?\(%\|\s*\(packets\|Gbit/s\|Mbit/s\|Tbit/s\|kbit/s\|packet\|bit/s\|Gb/s\|Gbps\|Mb/s\|Mbps\|Tb/s\|Tbps\|kb/s\|kbps\|GiB\|KiB\|MiB\|b/s\|bps\|GB\|KB\|MB\|kB\|ms\|ns\|ps\|us\|B\|s\)\>\)\?"
syn region openqueueString start=+"+ end=+"+ oneline
syn match openqueueComment "//.*$"
syn region openqueueComment start="/\*" end="\*/"

hi def link openqueueStatement Statement
hi def link openqueueAction Function
hi def link openqueueMaker Type
hi def link openqueueOperator Operator
hi def link openqueueObject Special
hi def link openqueueField Identifier
hi def link openqueueProperty Identifier
hi def link openqueueLibrary Constant
hi def link openqueueNumber Number
hi def link openqueueString String
hi def link openqueueComment Comment

let b:current_syntax = "openqueue"
