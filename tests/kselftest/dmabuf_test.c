// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "dmabuf_test.h"

#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

int export_range(int fd, uint64_t la, uint64_t offset, uint64_t bytes, uint32_t flags)
{
	AI_ARG(ai_export, arg, .la = la, .offset = offset, .bytes = bytes);
	int ret;

	arg.hdr.flags = flags;
	ret = ai_call(fd, AI_EXPORT, &arg);
	ASSERT(!ret, "export of 0x%llx: %s: %s", (unsigned long long)la, strerror(-ret),
	       ai_sentence);
	return arg.fd;
}

struct ai_import import_fd(int fd, int dmabuf, uint64_t offset, uint64_t bytes, uint32_t perm)
{
	AI_ARG(ai_import, arg, .fd = dmabuf, .offset = offset, .bytes = bytes, .perm = perm);
	int ret = ai_call(fd, AI_IMPORT, &arg);

	ASSERT(!ret, "import of fd %d: %s: %s", dmabuf, strerror(-ret), ai_sentence);
	return arg;
}

struct ai_import import_user(int fd, void *address, uint64_t bytes)
{
	AI_ARG(ai_import, arg, .kind = AI_IMPORT_USER, .address = (uintptr_t)address,
	       .bytes = bytes, .perm = RW);
	int ret = ai_call(fd, AI_IMPORT, &arg);

	ASSERT(!ret, "import of %p: %s: %s", address, strerror(-ret), ai_sentence);
	return arg;
}

char *map_import(int fd, const struct ai_import *import)
{
	void *p = mmap64(NULL, import->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 import->mmap_offset);

	ASSERT(p != MAP_FAILED, "la 0x%llx cannot be mapped: %s", (unsigned long long)import->la,
	       strerror(errno));
	return p;
}

char *map_fd(int fd, uint64_t bytes, int prot)
{
	void *p = mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);

	ASSERT(p != MAP_FAILED, "fd %d cannot be mapped: %s", fd, strerror(errno));
	return p;
}

/* ---- memfd, udmabuf, heap ---- */

int memfd_sealed(uint64_t bytes, int seals)
{
	int fd = memfd_create("ai-test", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	ASSERT(fd >= 0 && !ftruncate(fd, bytes) && !fcntl(fd, F_ADD_SEALS, seals), "memfd: %s",
	       strerror(errno));
	return fd;
}

int udmabuf_new(uint64_t bytes)
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;
	struct udmabuf_create create = { .size = bytes, .flags = UDMABUF_FLAGS_CLOEXEC };

	if (device < 0)
		SKIP("this kernel has no udmabuf");
	create.memfd = memfd_sealed(bytes, F_SEAL_SHRINK);
	fd = ioctl(device, UDMABUF_CREATE, &create);
	ASSERT(fd >= 0, "UDMABUF_CREATE: %s", strerror(errno));
	close(create.memfd);
	close(device);
	return fd;
}

int heap_new(uint64_t bytes)
{
	struct dma_heap_allocation_data data = { .len = bytes, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);

	if (heap < 0)
		SKIP("this kernel has no heap of the system");
	ASSERT(!ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data), "DMA_HEAP_IOCTL_ALLOC: %s",
	       strerror(errno));
	close(heap);
	return data.fd;
}

/* ---- vgem; the structures of DRM, whose headers are not among those of the kernel ---- */

struct dumb_create {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t size;
};

struct prime {
	uint32_t handle, flags;
	int32_t fd;
};

struct fence_attach {
	uint32_t handle, flags, out_fence, pad;
};

struct fence_signal {
	uint32_t fence, flags;
};

#define DUMB_CREATE _IOWR('d', 0xb2, struct dumb_create)
#define PRIME_HANDLE_TO_FD _IOWR('d', 0x2d, struct prime)
#define PRIME_FD_TO_HANDLE _IOWR('d', 0x2e, struct prime)
#define FENCE_ATTACH _IOWR('d', 0x41, struct fence_attach)
#define FENCE_SIGNAL _IOW('d', 0x42, struct fence_signal)
#define FENCE_WRITE 1

static int vgem_card(void)
{
	char path[60], link[200];
	int i;

	for (i = 0; i < 16; i++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/sys/class/drm/card%d/device", i);
		length = readlink(path, link, sizeof(link) - 1);
		if (length < 0)
			continue;
		link[length] = 0;
		if (!strstr(link, "vgem"))
			continue;
		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		return open(path, O_RDWR | O_CLOEXEC);
	}
	return -1;
}

int vgem_open(void)
{
	int card = vgem_card();

	if (card < 0 && !system("modprobe vgem 2>/dev/null"))
		card = vgem_card();
	if (card < 0)
		SKIP("this kernel has no vgem");
	return card;
}

struct vgem vgem_new(uint64_t bytes)
{
	struct dumb_create create = { .height = 1, .width = bytes / 4, .bpp = 32 };
	struct vgem vgem = { .card = vgem_open() };
	struct prime prime = { .flags = O_RDWR | O_CLOEXEC };

	ASSERT(!ioctl(vgem.card, DUMB_CREATE, &create), "a buffer of vgem: %s", strerror(errno));
	vgem.handle = create.handle;
	prime.handle = create.handle;
	ASSERT(!ioctl(vgem.card, PRIME_HANDLE_TO_FD, &prime), "its dma-buf: %s", strerror(errno));
	vgem.dmabuf = prime.fd;
	return vgem;
}

int vgem_import(int card, int dmabuf, uint32_t *handle)
{
	struct prime prime = { .fd = dmabuf };

	if (ioctl(card, PRIME_FD_TO_HANDLE, &prime))
		return -errno;
	*handle = prime.handle;
	return 0;
}

uint32_t vgem_fence(const struct vgem *vgem, bool write)
{
	struct fence_attach attach = { .handle = vgem->handle, .flags = write ? FENCE_WRITE : 0 };

	ASSERT(!ioctl(vgem->card, FENCE_ATTACH, &attach), "a fence of vgem: %s", strerror(errno));
	return attach.out_fence;
}

void vgem_signal(const struct vgem *vgem, uint32_t fence)
{
	struct fence_signal signal = { .fence = fence };

	ASSERT(!ioctl(vgem->card, FENCE_SIGNAL, &signal), "the fence of vgem: %s",
	       strerror(errno));
}
