/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every difference between the kernels ai0 builds on is in this file. The code
 * is written for the newest form; what is here makes older ones look like it.
 */
#ifndef AI_COMPAT_H
#define AI_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#error "ai0 needs Linux 6.12 or newer: the first whose modules may register BPF struct_ops"
#endif

/* The name of a namespace became a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define AI_IMPORT_NS(name) MODULE_IMPORT_NS(#name)
#else
#define AI_IMPORT_NS(name) MODULE_IMPORT_NS(name)
#endif

/* The buddy allocator of DRM became a library of its own within 6.12.y. */
#ifdef AI_HAVE_GPU_BUDDY
#include <linux/gpu_buddy.h>
#else
#include <drm/drm_buddy.h>
#define gpu_buddy drm_buddy
#define gpu_buddy_block drm_buddy_block
#define gpu_buddy_init drm_buddy_init
#define gpu_buddy_fini drm_buddy_fini
#define gpu_buddy_alloc_blocks drm_buddy_alloc_blocks
#define gpu_buddy_free_list drm_buddy_free_list
#define gpu_buddy_block_offset drm_buddy_block_offset
#define gpu_buddy_block_size drm_buddy_block_size
#endif

#endif /* AI_COMPAT_H */
