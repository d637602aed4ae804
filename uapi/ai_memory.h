/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * ai0: memory that is shared with others. A part of ai.h, which includes it.
 */
#ifndef _UAPI_LINUX_AI_MEMORY_H
#define _UAPI_LINUX_AI_MEMORY_H

#include "ai.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Shared memory
 *
 * What is shared has a file descriptor: the currency is a descriptor, an offset and a
 * length, in whole pages. %AI_EXPORT makes a dma-buf of a range; %AI_IMPORT makes a
 * range of a dma-buf, of a memfd or of memory of the caller. No byte is copied, and
 * what is shared is the pages: they go when the last user goes, on either side.
 *
 * A dma-buf that /dev/ai0 made is recognised. Imported whole, with the permissions it
 * has, it is the range it was made of, at the same logical address in every open file
 * that imports it. A part of it, or one with fewer permissions, has an address of its
 * own. Memory of a device can be shared between open files of /dev/ai0 and be mapped
 * by mmap(); other devices cannot attach to it.
 *
 * Before a job uses a range that is shared, the fences that others have put on it are
 * waited for: those of writers, and of readers as well for an output. A fence that does
 * not signal by &ai_infer.timeout_ns, or the device's time-out for a job, ends the call
 * with ``ETIME``, and its sentence names who owes it.
 */

/**
 * enum ai_origin - where the pages of a range come from
 * @AI_ORIGIN_ALLOC: %AI_ALLOC
 * @AI_ORIGIN_VIEW: a part of another range, or one with fewer permissions
 * @AI_ORIGIN_DMABUF: a dma-buf that somebody else exports
 * @AI_ORIGIN_MEMFD: a memfd, pinned
 * @AI_ORIGIN_USER: memory of a process, pinned
 */
enum ai_origin {
	AI_ORIGIN_ALLOC = 0,
	AI_ORIGIN_VIEW = 1,
	AI_ORIGIN_DMABUF = 2,
	AI_ORIGIN_MEMFD = 3,
	AI_ORIGIN_USER = 4,
};

/**
 * define AI_EXPORT_READ_ONLY - bit of &ai_hdr.flags, who has the descriptor may not write
 */
#define AI_EXPORT_READ_ONLY (1U << 0)

/**
 * struct ai_export - AI_EXPORT: a dma-buf of a range
 * @hdr: see &struct ai_hdr; flags: %AI_EXPORT_READ_ONLY
 * @la: In: logical address of any page of the range
 * @offset: In: bytes from the beginning of that page, whole pages
 * @bytes: In: whole pages, 0 for all from there on. Out: size of the dma-buf
 * @fd: Out: the dma-buf, close-on-exec
 * @reserved: must be zero
 *
 * A range that was imported from a dma-buf gives that one again, if it is all of it.
 */
struct ai_export {
	struct ai_hdr hdr;
	__u64 la;
	__u64 offset;
	__u64 bytes;
	__s32 fd;
	__u32 reserved;
};

/**
 * enum ai_import_kind - what is imported
 * @AI_IMPORT_FD: a dma-buf or a memfd, by descriptor
 * @AI_IMPORT_USER: memory of the caller, by address
 */
enum ai_import_kind {
	AI_IMPORT_FD = 0,
	AI_IMPORT_USER = 1,
};

/**
 * struct ai_import - AI_IMPORT: a range of pages that are somebody's already
 * @hdr: see &struct ai_hdr; no flags
 * @address: In: with %AI_IMPORT_USER where the memory is, at the beginning of a page;
 *	else 0
 * @offset: In: bytes from the beginning of what @fd is, whole pages; with
 *	%AI_IMPORT_USER 0
 * @bytes: In: whole pages; with %AI_IMPORT_FD 0 for all from @offset on. Out: size of
 *	the range
 * @fd: In: with %AI_IMPORT_FD the descriptor, which may be closed afterwards; else 0
 * @kind: In: &enum ai_import_kind
 * @perm: In: AI_PERM_* bits for devices, at least one
 * @cache: Out: &enum ai_cache, the default one where the exporter decides
 * @la: Out: logical address of the first page
 * @mmap_offset: Out: offset for mmap()
 * @device: Out: home, %AI_DEVICE_SYSTEM unless it is memory of a device
 * @origin: Out: &enum ai_origin
 *
 * What is pinned, a memfd and memory of the caller, counts against ``RLIMIT_MEMLOCK``
 * of the caller's user, unless it has ``CAP_IPC_LOCK``. A memfd must be sealed with
 * ``F_SEAL_SHRINK``, so that nobody cuts it off beneath. Memory of the caller must be
 * such that the caller may write it, and none of a device or of a file on a disk. What
 * cannot be written, because of how @fd was opened or is sealed, can neither be by
 * devices nor through mmap().
 *
 * An import is a handle of its own, to be ended with %AI_FREE, also where it gives an
 * address that the file has already.
 */
struct ai_import {
	struct ai_hdr hdr;
	__u64 address;
	__u64 offset;
	__u64 bytes;
	__s32 fd;
	__u32 kind;
	__u32 perm;
	__u32 cache;
	__u64 la;
	__u64 mmap_offset;
	__u32 device;
	__u32 origin;
};

/**
 * define AI_SYNC_READ - bit of &ai_hdr.flags, the CPU reads
 */
#define AI_SYNC_READ (1U << 0)
/**
 * define AI_SYNC_WRITE - bit of &ai_hdr.flags, the CPU writes
 */
#define AI_SYNC_WRITE (1U << 1)
/**
 * define AI_SYNC_END - bit of &ai_hdr.flags, the CPU has done so; else it is about to
 */
#define AI_SYNC_END (1U << 2)

/**
 * struct ai_sync - AI_SYNC: say that the CPU uses a shared range
 * @hdr: see &struct ai_hdr; flags: %AI_SYNC_READ, %AI_SYNC_WRITE, at least one of them, and
 *	%AI_SYNC_END
 * @la: In: logical address of any page of the range
 * @timeout_ns: In: absolute; how long to wait for the fences on it, 0: until they signal.
 *	With %AI_SYNC_END nothing is waited for and it must be 0
 *
 * What ``DMA_BUF_IOCTL_SYNC`` is for a dma-buf, which does as well. A range that is not
 * shared needs neither: jobs have ended when %AI_INFER returns.
 */
struct ai_sync {
	struct ai_hdr hdr;
	__u64 la;
	__s64 timeout_ns;
};

/* Struct sizes, see ai.h. */
#define AI_EXPORT_SIZE_VER0 56
#define AI_IMPORT_SIZE_VER0 88
#define AI_SYNC_SIZE_VER0 40

#define AI_EXPORT _IOWR(AI_IOC_MAGIC, 0x10, struct ai_export)
#define AI_IMPORT _IOWR(AI_IOC_MAGIC, 0x11, struct ai_import)
#define AI_SYNC _IOWR(AI_IOC_MAGIC, 0x12, struct ai_sync)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_LINUX_AI_MEMORY_H */
