/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * First instructions. SRAM is clear when the boot ROM jumps here, so .bss needs
 * no clearing. There is one hart and no interrupt: the core waits by ecall.
 */
	.section .text.start, "ax"
	.globl _start
_start:
	la sp, __stack_top
	call npu_main
1:
	li a7, 2 /* NPU_ECALL_HALT */
	ecall
	j 1b
