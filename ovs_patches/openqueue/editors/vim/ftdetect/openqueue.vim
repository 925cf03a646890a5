au BufRead,BufNewFile *.oq setfiletype openqueue
