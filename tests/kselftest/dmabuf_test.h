/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of shared memory share: exporters of the kernel, and calls. */
#ifndef DMABUF_TEST_H
#define DMABUF_TEST_H

#include "ai_test.h"

#define RW (AI_PERM_READ | AI_PERM_WRITE)

/* ---- calls that must succeed ---- */

/* A dma-buf of the range, from @offset on; @bytes 0: to its end. */
int export_range(int fd, uint64_t la, uint64_t offset, uint64_t bytes, uint32_t flags);
/* A range of what @dmabuf is. */
struct ai_import import_fd(int fd, int dmabuf, uint64_t offset, uint64_t bytes, uint32_t perm);
struct ai_import import_user(int fd, void *address, uint64_t bytes);
/* Mapped through /dev/ai0, for reading and writing. */
char *map_import(int fd, const struct ai_import *import);
/* Mapped by its own descriptor. */
char *map_fd(int fd, uint64_t bytes, int prot);

/* ---- others who export ---- */

int memfd_sealed(uint64_t bytes, int seals);
/* A dma-buf of a memfd, or of the system's heap. SKIP() if the kernel has none. */
int udmabuf_new(uint64_t bytes);
int heap_new(uint64_t bytes);

/* A buffer of vgem, a DRM driver without hardware; its module is loaded if need be. */
struct vgem {
	int card;
	uint32_t handle;
	int dmabuf;
};

struct vgem vgem_new(uint64_t bytes);
int vgem_open(void);
/* The dma-buf as a buffer of that card; 0 or -errno. */
int vgem_import(int card, int dmabuf, uint32_t *handle);
/* A fence on the buffer that signals when it is told, or ends with an error after 10 s. */
uint32_t vgem_fence(const struct vgem *vgem, bool write);
void vgem_signal(const struct vgem *vgem, uint32_t fence);

#endif /* DMABUF_TEST_H */
