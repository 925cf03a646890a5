# The guest of test_live_migration.py, a boot sector. At each tick of the PC's timer it adds one to each of the 32768 words at
# 0x10000, which must all hold the number of ticks so far, and says a letter by the serial port, the next one of a to p. Memory
# that a migration loses or brings twice is a '!', a lost or repeated moment a break in the letters. Each tick toggles CR0.WP,
# which makes QEMU's translator empty its TLB: QEMU 7.2 without KVM otherwise loses pages that the guest writes while they are
# sent (72 of 72 migrations over plain TCP at 1.5 MB/s lost some, none of 71 with the toggle), whatever the transport.
	.code16
	.globl _start
_start:
	cli
	xor %ax, %ax
	mov %ax, %ds
	mov %ax, %ss
	mov $0x7c00, %sp
	mov $0x1000, %bx
	mov %bx, %es
	xor %bx, %bx		# ticks
	xor %di, %di
	mov $0x8000, %cx
	cld
	rep stosw
	sti
tick:
	hlt
	mov %cr0, %eax
	xor $0x10000, %eax	# WP
	mov %eax, %cr0
	xor %di, %di
	mov $0x8000, %cx
word:
	cmp %bx, %es:(%di)
	jne wrong
	incw %es:(%di)
	inc %di
	inc %di
	loop word
	mov %bl, %al
	and $15, %al
	add $'a', %al
	call say
	inc %bx
	jmp tick
wrong:
	mov $'!', %al
	call say
end:
	hlt
	jmp end
say:
	mov $0x3f8, %dx
	out %al, %dx
	ret
	.org 510
	.word 0xaa55
