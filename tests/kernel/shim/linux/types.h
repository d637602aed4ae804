/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel's pure parts need of its types, in userspace. */
#ifndef SHIM_TYPES_H
#define SHIM_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>

typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#ifndef __cplusplus /* which has its own */
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#endif

#endif /* SHIM_TYPES_H */
