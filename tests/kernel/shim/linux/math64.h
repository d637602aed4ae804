/* SPDX-License-Identifier: GPL-2.0-only */
/* As in the kernel, but a result that does not fit ends the test. */
#ifndef SHIM_MATH64_H
#define SHIM_MATH64_H

#include <linux/types.h>
#include <stdlib.h>

static inline u64 shim_fits(unsigned __int128 value)
{
	if (value >> 64)
		abort();
	return (u64)value;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return shim_fits((unsigned __int128)a * b >> shift);
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return shim_fits((unsigned __int128)a * b / c);
}

#endif /* SHIM_MATH64_H */
