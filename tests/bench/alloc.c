// SPDX-License-Identifier: GPL-2.0-only
/*
 * alloc_4k, alloc_1m, alloc_16m: allocate, map, touch every page, free. Each
 * peer in every form it offers; the cheapest is its figure.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

struct work {
	int fd;
	size_t bytes;
	int map_flags;
	bool advise;
};

static void touch(void *memory, size_t bytes)
{
	volatile char *p = memory;
	size_t i;

	for (i = 0; i < bytes; i += 4096)
		p[i] = 1;
}

static void *map(const struct work *w, int fd, off_t offset)
{
	void *p = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | w->map_flags, fd,
		       offset);

	bench_check(p != MAP_FAILED, "mmap");
	return p;
}

/* ---- ours ---- */

static void ours(void *arg)
{
	const struct work *w = arg;
	struct ai_alloc a = bench_alloc(w->fd, w->bytes);
	struct ai_free f = {
		.hdr = { .size = sizeof(f), .flags = AI_FREE_UNMAP }, .la = a.la,
		.address = a.address,
	};

	touch((void *)(uintptr_t)a.address, w->bytes);
	bench_check(!ioctl(w->fd, AI_FREE, &f), "AI_FREE");
}

static void ours_apart(void *arg)
{
	const struct work *w = arg;
	struct ai_alloc a = {
		.hdr = { .size = sizeof(a) }, .bytes = w->bytes,
		.perm = AI_PERM_READ | AI_PERM_WRITE,
	};
	struct ai_free f = { .hdr = { .size = sizeof(f) } };
	void *p;

	bench_check(!ioctl(w->fd, AI_ALLOC, &a), "AI_ALLOC");
	p = map(w, w->fd, a.mmap_offset);
	touch(p, w->bytes);
	munmap(p, w->bytes);
	f.la = a.la;
	bench_check(!ioctl(w->fd, AI_FREE, &f), "AI_FREE");
}

/* ---- dma-heap ---- */

static void dma_heap(void *arg)
{
	const struct work *w = arg;
	struct dma_heap_allocation_data a = { .len = w->bytes, .fd_flags = O_RDWR | O_CLOEXEC };
	void *p;

	bench_check(!ioctl(w->fd, DMA_HEAP_IOCTL_ALLOC, &a), "DMA_HEAP_IOCTL_ALLOC");
	p = map(w, a.fd, 0);
	touch(p, w->bytes);
	munmap(p, w->bytes);
	close(a.fd);
}

/* ---- vgem: dumb buffers; the structures of drm_mode.h, which has no Debian C header ---- */

struct dumb_create {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t size;
};

struct dumb_map {
	uint32_t handle, pad;
	uint64_t offset;
};

#define DUMB_CREATE _IOWR('d', 0xb2, struct dumb_create)
#define DUMB_MAP _IOWR('d', 0xb3, struct dumb_map)
#define DUMB_DESTROY _IOWR('d', 0xb4, uint32_t)

static void vgem(void *arg)
{
	const struct work *w = arg;
	struct dumb_create create = { .height = 1, .width = w->bytes / 4, .bpp = 32 };
	struct dumb_map where = { 0 };
	void *p;

	bench_check(!ioctl(w->fd, DUMB_CREATE, &create), "DRM_IOCTL_MODE_CREATE_DUMB");
	where.handle = create.handle;
	bench_check(!ioctl(w->fd, DUMB_MAP, &where), "DRM_IOCTL_MODE_MAP_DUMB");
	p = map(w, w->fd, where.offset);
	touch(p, w->bytes);
	munmap(p, w->bytes);
	bench_check(!ioctl(w->fd, DUMB_DESTROY, &create.handle), "DRM_IOCTL_MODE_DESTROY_DUMB");
}

static int vgem_open(void)
{
	char path[40], link[200];
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

/* ---- udmabuf ---- */

static void udmabuf(void *arg)
{
	const struct work *w = arg;
	int memory = memfd_create("bench", MFD_ALLOW_SEALING | MFD_CLOEXEC), buffer;
	struct udmabuf_create create = { .memfd = memory, .flags = UDMABUF_FLAGS_CLOEXEC,
					 .size = w->bytes };
	void *p;

	bench_check(memory >= 0 && !ftruncate(memory, w->bytes) &&
		    !fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), "memfd");
	buffer = ioctl(w->fd, UDMABUF_CREATE, &create);
	bench_check(buffer >= 0, "UDMABUF_CREATE");
	p = map(w, memory, 0);
	touch(p, w->bytes);
	munmap(p, w->bytes);
	close(buffer);
	close(memory);
}

/* ---- anonymous memory, which no device could reach ---- */

static void anonymous(void *arg)
{
	const struct work *w = arg;
	void *p = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | w->map_flags, -1, 0);

	bench_check(p != MAP_FAILED, "mmap");
	if (w->advise)
		madvise(p, w->bytes, MADV_HUGEPAGE);
	touch(p, w->bytes);
	munmap(p, w->bytes);
}

static double cheapest(void (*op)(void *), int fd, size_t bytes, int times)
{
	double best = 0;
	int form;

	for (form = 0; form < 4; form++) {
		struct work w = { .fd = fd, .bytes = bytes,
				  .map_flags = form & 1 ? MAP_POPULATE : 0,
				  .advise = form & 2 };
		double value;

		/* Advice is for anonymous memory alone. */
		if (w.advise && op != anonymous)
			break;
		value = bench_measure(op, &w, times);
		if (!form || value < best)
			best = value;
	}
	return best;
}

int main(void)
{
	static const struct {
		const char *row;
		size_t bytes;
		int times;
	} rows[] = {
		{ "alloc_4k", 4096, 400 },
		{ "alloc_1m", 1 << 20, 30 },
		{ "alloc_16m", 16 << 20, 5 },
	};
	int ai = bench_open();
	int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
	int udma = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int card = vgem_open();
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double one = cheapest(ours, ai, rows[i].bytes, rows[i].times);
		double two = cheapest(ours_apart, ai, rows[i].bytes, rows[i].times);

		bench_print(rows[i].row, "ours", "ns", one < two ? one : two);
		bench_print(rows[i].row, "ours, mapped apart", "ns", two);
		if (heap >= 0)
			bench_print(rows[i].row, "dma-heap", "ns",
				    cheapest(dma_heap, heap, rows[i].bytes, rows[i].times));
		if (card >= 0)
			bench_print(rows[i].row, "vgem", "ns",
				    cheapest(vgem, card, rows[i].bytes, rows[i].times));
		if (udma >= 0)
			bench_print(rows[i].row, "udmabuf", "ns",
				    cheapest(udmabuf, udma, rows[i].bytes, rows[i].times));
		bench_print(rows[i].row, "anonymous mmap", "ns",
			    cheapest(anonymous, -1, rows[i].bytes, rows[i].times));
	}
	return 0;
}
