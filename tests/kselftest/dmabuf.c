// SPDX-License-Identifier: GPL-2.0-only
/* Ranges as dma-bufs, dma-bufs as ranges: the same pages on all sides. */
#define _GNU_SOURCE
#include "dmabuf_test.h"

#include <linux/dma-buf.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define SIZE (4 * PAGE)

/* ---- export ---- */

static void test_export(void)
{
	int fd = ai_open(), dmabuf;
	struct ai_alloc a = ai_get_mapped(fd, SIZE);
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	char *own = (char *)(uintptr_t)a.address, *other;

	dmabuf = export_range(fd, a.la, 0, 0, 0);
	EXPECT(lseek(dmabuf, 0, SEEK_END) == SIZE, "%ld bytes", (long)lseek(dmabuf, 0, SEEK_END));
	EXPECT(fcntl(dmabuf, F_GETFD) & FD_CLOEXEC, "survives exec()");
	other = map_fd(dmabuf, SIZE, PROT_READ | PROT_WRITE);
	strcpy(own + PAGE, "from the range");
	EXPECT(!strcmp(other + PAGE, "from the range"), "other pages");
	EXPECT(!ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync), "sync: %s", strerror(errno));
	strcpy(other + 2 * PAGE, "from the dma-buf");
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	EXPECT(!ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync), "sync: %s", strerror(errno));
	EXPECT(!strcmp(own + 2 * PAGE, "from the dma-buf"), "other pages");

	/* The pages stay for as long as anybody has them. */
	EXPECT(!ai_free_la(fd, a.la), "%s", ai_sentence);
	munmap(own, SIZE);
	close(fd);
	close(dmabuf);
	EXPECT(!strcmp(other + PAGE, "from the range"), "pages went while mapped");
	munmap(other, SIZE);
}

static void test_export_part(void)
{
	int fd = ai_open(), dmabuf;
	struct ai_alloc a = ai_get_mapped(fd, SIZE);
	char *own = (char *)(uintptr_t)a.address, *other;

	dmabuf = export_range(fd, a.la + 1, PAGE, PAGE, 0);
	EXPECT(lseek(dmabuf, 0, SEEK_END) == PAGE, "not one page");
	own[2 * PAGE] = 'x';
	other = map_fd(dmabuf, PAGE, PROT_READ | PROT_WRITE);
	EXPECT(*other == 'x', "another page");
	EXPECT(mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, dmabuf, 0) == MAP_FAILED,
	       "more than the part can be mapped");
	EXPECT(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dmabuf, PAGE) == MAP_FAILED,
	       "what is behind the part can be mapped");
	EXPECT(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, dmabuf, 0) == MAP_FAILED,
	       "a private copy can be made");
}

static void test_export_read_only(void)
{
	int fd = ai_open(), two = ai_open(), dmabuf;
	struct ai_alloc a = ai_get_mapped(fd, SIZE);
	AI_ARG(ai_import, bad, .perm = RW);
	AI_ARG(ai_export, again);
	struct ai_import view;
	char *other;

	strcpy((char *)(uintptr_t)a.address, "look");
	dmabuf = export_range(fd, a.la, 0, 0, AI_EXPORT_READ_ONLY);
	EXPECT(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0) == MAP_FAILED,
	       "can be mapped for writing");
	other = map_fd(dmabuf, SIZE, PROT_READ);
	EXPECT(!strcmp(other, "look"), "other pages");
	EXPECT(mprotect(other, SIZE, PROT_READ | PROT_WRITE) && errno == EACCES,
	       "can be made writable");

	/* Nor does another way in help. */
	bad.fd = dmabuf;
	FAILS(two, AI_IMPORT, &bad, EACCES, "read-only");
	view = import_fd(two, dmabuf, 0, 0, AI_PERM_READ);
	EXPECT(view.origin == AI_ORIGIN_VIEW && view.la != a.la, "origin %u", view.origin);
	EXPECT(mmap64(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, two, view.mmap_offset) ==
	       MAP_FAILED && errno == EACCES, "the view can be mapped for writing");
	other = mmap64(NULL, SIZE, PROT_READ, MAP_SHARED, two, view.mmap_offset);
	ASSERT(other != MAP_FAILED, "the view cannot be mapped: %s", strerror(errno));
	EXPECT(mprotect(other, SIZE, PROT_READ | PROT_WRITE) && errno == EACCES,
	       "the view can be made writable");
	again.la = view.la;
	FAILS(two, AI_EXPORT, &again, EACCES, "AI_EXPORT_READ_ONLY");
	export_range(two, view.la, 0, 0, AI_EXPORT_READ_ONLY);
}

static void test_bad_exports(void)
{
	int fd = ai_open(), two = ai_open();
	struct ai_alloc a = ai_get(fd, SIZE, AI_DEVICE_SYSTEM, RW);
	AI_ARG(ai_export, arg, .la = a.la);

	arg.offset = 5;
	FAILS(fd, AI_EXPORT, &arg, EINVAL, "offset is 5");
	arg.offset = SIZE;
	FAILS(fd, AI_EXPORT, &arg, EINVAL, "16384 bytes");
	arg.offset = ~0ULL << 12;
	FAILS(fd, AI_EXPORT, &arg, EINVAL, NULL);
	arg.offset = PAGE;
	arg.bytes = SIZE;
	FAILS(fd, AI_EXPORT, &arg, EINVAL, "bytes is 16384");
	arg.bytes = ~0ULL << 12;
	FAILS(fd, AI_EXPORT, &arg, EINVAL, NULL);
	arg.bytes = 1;
	FAILS(fd, AI_EXPORT, &arg, EINVAL, NULL);
	arg.bytes = 0;
	arg.reserved = 1;
	FAILS(fd, AI_EXPORT, &arg, EINVAL, "reserved");
	arg.reserved = 0;
	arg.hdr.flags = 2;
	FAILS(fd, AI_EXPORT, &arg, EINVAL, "flags");
	arg.hdr.flags = 0;
	FAILS(two, AI_EXPORT, &arg, EACCES, NULL);
	arg.la = a.la + 4;
	FAILS_EITHER(fd, AI_EXPORT, &arg, ENOENT, EACCES, NULL);
}

/* ---- import of what was exported here ---- */

static void test_whole(void)
{
	int one = ai_open(), two = ai_open(), dmabuf;
	struct ai_alloc a = ai_get_mapped(one, SIZE);
	AI_ARG(ai_region_info, info, .la = a.la);
	struct ai_import in;
	char *p;

	strcpy((char *)(uintptr_t)a.address, "one");
	dmabuf = export_range(one, a.la, 0, 0, 0);
	FAILS(two, AI_REGION_INFO, &info, EACCES, NULL);
	in = import_fd(two, dmabuf, 0, 0, RW);
	EXPECT(in.la == a.la && in.bytes == SIZE && in.mmap_offset == a.mmap_offset &&
	       in.origin == AI_ORIGIN_ALLOC && in.device == AI_DEVICE_SYSTEM &&
	       in.cache == a.cache, "la 0x%llx, origin %u", (unsigned long long)in.la, in.origin);
	WORKS(two, AI_REGION_INFO, &info);
	p = map_import(two, &in);
	EXPECT(!strcmp(p, "one"), "other pages");

	/* It is the other's as well. */
	EXPECT(!ai_free_la(one, a.la), "%s", ai_sentence);
	close(one);
	WORKS(two, AI_REGION_INFO, &info);
	EXPECT(!ai_free_la(two, a.la), "%s", ai_sentence);
	FAILS_EITHER(two, AI_REGION_INFO, &info, ENOENT, EACCES, NULL);
	EXPECT(!strcmp(p, "one"), "pages went while mapped");
	in = import_fd(two, dmabuf, 0, 0, RW);
	EXPECT(in.la == a.la, "another address");
}

/* Each handle is to be ended, and none of them ends another. */
static void test_own(void)
{
	int fd = ai_open(), dmabuf;
	struct ai_alloc a = ai_get(fd, SIZE, AI_DEVICE_SYSTEM, RW);
	AI_ARG(ai_region_info, info, .la = a.la);
	int i;

	dmabuf = export_range(fd, a.la, 0, 0, 0);
	for (i = 0; i < 3; i++)
		EXPECT(import_fd(fd, dmabuf, 0, SIZE, RW).la == a.la, "another address");
	close(dmabuf);
	for (i = 0; i < 4; i++) {
		WORKS(fd, AI_REGION_INFO, &info);
		EXPECT(info.refs == 1, "%u references", info.refs);
		EXPECT(!ai_free_la(fd, a.la), "%s", ai_sentence);
	}
	EXPECT(ai_free_la(fd, a.la) == -ENOENT, "freed once too often");
}

static void test_part(void)
{
	int one = ai_open(), two = ai_open(), dmabuf, again;
	struct ai_alloc a = ai_get_mapped(one, SIZE);
	AI_ARG(ai_region_info, info);
	AI_ARG(ai_import, bad, .perm = RW);
	struct ai_import part, inner;
	char *own = (char *)(uintptr_t)a.address, *p;
	int i;

	for (i = 0; i < 4; i++)
		own[i * PAGE] = '0' + i;
	dmabuf = export_range(one, a.la, PAGE, 3 * PAGE, 0);
	part = import_fd(two, dmabuf, PAGE, 0, RW);
	EXPECT(part.origin == AI_ORIGIN_VIEW && part.bytes == 2 * PAGE && part.la != a.la,
	       "origin %u, %llu bytes", part.origin, (unsigned long long)part.bytes);
	p = map_import(two, &part);
	EXPECT(p[0] == '2' && p[PAGE] == '3', "pages %c and %c", p[0], p[PAGE]);
	/* What is beside the part is not reachable. */
	info.la = a.la;
	FAILS(two, AI_REGION_INFO, &info, EACCES, NULL);
	EXPECT(mmap64(NULL, SIZE, PROT_READ, MAP_SHARED, two, part.mmap_offset) == MAP_FAILED,
	       "more than the part can be mapped");

	/* A part of a part. */
	again = export_range(two, part.la, PAGE, 0, 0);
	inner = import_fd(one, again, 0, 0, RW);
	p = map_import(one, &inner);
	EXPECT(*p == '3', "page %c", *p);
	EXPECT(!ai_free_la(two, part.la), "%s", ai_sentence);
	EXPECT(!ai_free_la(one, a.la), "%s", ai_sentence);
	close(dmabuf);
	close(again);
	EXPECT(*p == '3', "page %c", *p);
	*p = 'z';
	EXPECT(own[3 * PAGE] == 'z', "another page");

	bad.fd = export_range(one, inner.la, 0, 0, 0);
	bad.offset = PAGE;
	FAILS(two, AI_IMPORT, &bad, EINVAL, "4096 bytes");
	bad.offset = 0;
	bad.bytes = 2 * PAGE;
	FAILS(two, AI_IMPORT, &bad, EINVAL, "4096 bytes");
	bad.offset = PAGE;
	bad.bytes = ~0ULL << 12;
	FAILS(two, AI_IMPORT, &bad, EINVAL, NULL);
	bad.offset = 1;
	bad.bytes = 0;
	FAILS(two, AI_IMPORT, &bad, EINVAL, "offset is 1");
}

/* With fewer permissions it is a view; with more it is nothing. */
static void test_permissions(void)
{
	int one = ai_open(), two = ai_open(), dmabuf;
	struct ai_alloc a = ai_get(one, SIZE, AI_DEVICE_SYSTEM, RW);
	struct ai_alloc readable = ai_get(one, SIZE, AI_DEVICE_SYSTEM, AI_PERM_READ);
	AI_ARG(ai_import, bad, .perm = RW);
	AI_ARG(ai_region_info, info);
	struct fixture fix;

	dmabuf = export_range(one, a.la, 0, 0, 0);
	info.la = import_fd(two, dmabuf, 0, 0, AI_PERM_READ).la;
	WORKS(two, AI_REGION_INFO, &info);
	EXPECT(info.perm == AI_PERM_READ && info.origin == AI_ORIGIN_VIEW && info.la != a.la,
	       "perm %u, origin %u", info.perm, info.origin);
	bad.fd = export_range(one, readable.la, 0, 0, 0);
	FAILS(two, AI_IMPORT, &bad, EACCES, "perm is 0x3");

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.out.la = import_fd(fix.fd, dmabuf, 0, 0, AI_PERM_READ).la;
	FAILS(fix.fd, AI_INFER, &fix.call, EACCES, "may not write");
}

/* ---- others who have it ---- */

static void test_other_process(void)
{
	int fd = ai_open(), pair[2], status;
	struct ai_alloc a = ai_get_mapped(fd, SIZE);
	char *own = (char *)(uintptr_t)a.address;
	pid_t pid;

	ASSERT(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair: %s", strerror(errno));
	strcpy(own, "to the child");
	pid = fork();
	if (!pid) {
		int mine, dmabuf;
		struct ai_import in;
		char *p;

		close(fd);
		munmap(own, SIZE);
		mine = ai_open();
		dmabuf = receive_fd(pair[1]);
		in = import_fd(mine, dmabuf, 0, 0, RW);
		p = map_import(mine, &in);
		EXPECT(in.la == a.la && !strcmp(p, "to the child"), "other pages");
		strcpy(p, "to the parent");
		_exit(0);
	}
	send_fd(pair[0], export_range(fd, a.la, 0, 0, 0));
	waitpid(pid, &status, 0);
	EXPECT(WIFEXITED(status) && !strcmp(own, "to the parent"), "status 0x%x, %s", status, own);
}

/* An importer that is killed leaves nothing behind. */
static void test_killed(void)
{
	struct ai_held before, after;
	int fd = ai_open(), status, i;
	struct ai_alloc a = ai_get(fd, SIZE, AI_DEVICE_SYSTEM, RW);
	int dmabuf = export_range(fd, a.la, 0, 0, 0);

	ASSERT(ai_held(&before), "no debugfs");
	for (i = 0; i < tap_less(20); i++) {
		pid_t pid = fork();

		if (!pid) {
			for (;;) {
				int mine = ai_open();

				import_fd(mine, dmabuf, 0, 0, RW);
				import_fd(mine, dmabuf, PAGE, 0, RW);
				import_user(mine, mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
						       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), SIZE);
			}
		}
		usleep(1000 * (1 + i % 7));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	EXPECT(ai_held_at_most(&before, 2000), "regions are left");
	ai_held(&after);
	EXPECT(after.regions == before.regions, "%ld regions, %ld before", after.regions,
	       before.regions);
}

/* A job of one open file reads what a job of another has written: nothing is copied. */
static void test_jobs(void)
{
	struct fixture one, two;
	struct ai_import in;
	int dmabuf;

	fixture_open(&one, SIM_FAST, MODEL_COPY);
	fixture_open(&two, SIM_OTHER, MODEL_COPY);
	one.x[0] = 42;
	dmabuf = export_range(one.fd, one.out_alloc.la, 0, 0, 0);
	in = import_fd(two.fd, dmabuf, 0, 0, RW);
	two.in.la = in.la;
	WORKS(one.fd, AI_INFER, &one.call);
	WORKS(two.fd, AI_INFER, &two.call);
	EXPECT(two.y[0] == 42, "%f", two.y[0]);
}

/* A driver that is not ours attaches, maps and lets go again. */
static void test_attached(void)
{
	int fd = ai_open(), card = vgem_open(), dmabuf, whole, i;
	struct dma_buf_sync sync = { 0 };
	struct ai_alloc a = ai_get_mapped(fd, 64 * PAGE);
	struct ai_alloc device = ai_get(fd, PAGE, SIM_MEDIUM, RW);
	uint32_t handle;

	dmabuf = export_range(fd, a.la, 16 * PAGE, 0, 0);
	EXPECT(!vgem_import(card, dmabuf, &handle), "vgem: %s", strerror(errno));
	whole = export_range(fd, a.la, 0, 0, 0);
	EXPECT(!vgem_import(card, whole, &handle), "vgem: %s", strerror(errno));
	for (i = 0; i < 2; i++) {
		sync.flags = DMA_BUF_SYNC_RW | (i ? DMA_BUF_SYNC_END : DMA_BUF_SYNC_START);
		EXPECT(!ioctl(whole, DMA_BUF_IOCTL_SYNC, &sync), "sync: %s", strerror(errno));
		EXPECT(!ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync), "sync: %s", strerror(errno));
	}
	EXPECT(!ai_free_la(fd, a.la), "%s", ai_sentence);
	close(dmabuf);
	close(whole);
	/* Memory of a device goes with it: that cannot be given to a driver for good. */
	dmabuf = export_range(fd, device.la, 0, 0, 0);
	EXPECT(vgem_import(card, dmabuf, &handle) == -EOPNOTSUPP, "memory of a device: %s",
	       strerror(errno));
	close(card);
}

/* ---- dma-bufs of others ---- */

static void foreign(int dmabuf, const char *exporter)
{
	struct fixture fix;
	AI_ARG(ai_region_info, info);
	AI_ARG(ai_export, refused);
	AI_ARG(ai_sync, sync);
	struct ai_import whole, part;
	struct stat here, there;
	char *theirs = map_fd(dmabuf, SIZE, PROT_READ | PROT_WRITE), *ours;
	uint64_t la;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	whole = import_fd(fix.fd, dmabuf, 0, 0, RW);
	EXPECT(whole.origin == AI_ORIGIN_DMABUF && whole.bytes == SIZE &&
	       whole.cache == AI_CACHE_DEFAULT, "origin %u", whole.origin);
	info.la = whole.la + 3;
	WORKS(fix.fd, AI_REGION_INFO, &info);
	EXPECT(info.la == whole.la && info.origin == AI_ORIGIN_DMABUF && !info.largest_folio,
	       "origin %u", info.origin);
	ours = map_import(fix.fd, &whole);
	sync.la = whole.la;
	sync.hdr.flags = AI_SYNC_READ | AI_SYNC_WRITE;
	WORKS(fix.fd, AI_SYNC, &sync);
	strcpy(ours + PAGE, exporter);
	sync.hdr.flags |= AI_SYNC_END;
	WORKS(fix.fd, AI_SYNC, &sync);
	EXPECT(!strcmp(theirs + PAGE, exporter), "%s: other pages", exporter);

	/* A job on both sides of it. */
	la = fix.in.la;
	((float *)theirs)[0] = 17;
	fix.in.la = whole.la;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.y[0] == 17, "%s: %f", exporter, fix.y[0]);
	fix.in.la = la;
	fix.x[0] = 23;
	part = import_fd(fix.fd, dmabuf, 2 * PAGE, PAGE, RW);
	fix.out.la = part.la;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(*(float *)(theirs + 2 * PAGE) == 23, "%s: %f", exporter,
	       *(float *)(theirs + 2 * PAGE));
	EXPECT(*map_import(fix.fd, &part) == theirs[2 * PAGE], "%s: the part is another one",
	       exporter);

	/* Exported again it is what it was; a part of it cannot be. */
	ASSERT(!fstat(dmabuf, &there) &&
	       !fstat(export_range(fix.fd, whole.la, 0, 0, 0), &here), "fstat");
	EXPECT(here.st_ino == there.st_ino, "%s: a dma-buf of a dma-buf", exporter);
	refused.la = part.la;
	FAILS(fix.fd, AI_EXPORT, &refused, EOPNOTSUPP, "whole");
	refused.la = whole.la;
	refused.hdr.flags = AI_EXPORT_READ_ONLY;
	FAILS(fix.fd, AI_EXPORT, &refused, EOPNOTSUPP, "read-only");

	EXPECT(!ai_free_la(fix.fd, whole.la), "%s", ai_sentence);
	close(dmabuf);
	EXPECT(!strcmp(ours + PAGE, exporter), "%s: pages went while mapped", exporter);
}

static void test_udmabuf(void)
{
	foreign(udmabuf_new(SIZE), "udmabuf");
}

static void test_heap(void)
{
	foreign(heap_new(SIZE), "system");
}

static void test_vgem(void)
{
	struct vgem vgem = vgem_new(SIZE);

	foreign(vgem.dmabuf, "vgem");
	close(vgem.card);
}

static void test_bad_imports(void)
{
	const char *const paths[] = { "/dev/null", "/dev/zero", "/proc/self/status", "/" };
	int fd = ai_open(), pair[2], good = udmabuf_new(SIZE);
	AI_ARG(ai_import, arg, .perm = RW);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		arg.fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		FAILS(fd, AI_IMPORT, &arg, EINVAL, "neither a dma-buf nor a memfd");
	}
	ASSERT(!pipe(pair), "pipe: %s", strerror(errno));
	arg.fd = pair[0];
	FAILS(fd, AI_IMPORT, &arg, EINVAL, NULL);
	arg.fd = fd;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, NULL);
	arg.fd = -1;
	FAILS(fd, AI_IMPORT, &arg, EBADF, "fd is -1");
	arg.fd = 900;
	FAILS(fd, AI_IMPORT, &arg, EBADF, "fd is 900");

	arg.fd = good;
	arg.perm = 0;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "perm is 0x0");
	arg.perm = 4;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "perm is 0x4");
	arg.perm = RW;
	arg.kind = 2;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "kind is 2");
	arg.kind = 0;
	arg.address = PAGE;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "address");
	arg.address = 0;
	arg.offset = SIZE;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "16384 bytes");
	arg.offset = PAGE;
	arg.bytes = SIZE;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "16384 bytes");
	arg.bytes = PAGE - 1;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "4095");
	arg.bytes = 0;
	WORKS(fd, AI_IMPORT, &arg);
}

/* ---- memory of a device ---- */

static void test_device(void)
{
	int one = ai_open(), two = ai_open(), dmabuf;
	AI_ARG(ai_alloc, a, .bytes = SIZE, .device = SIM_MEDIUM, .perm = RW);
	struct ai_device_info before = ai_device(one, SIM_MEDIUM), after;
	struct ai_import whole, part;
	struct fixture fix;
	int again;
	char *p, *q;

	WORKS(one, AI_ALLOC, &a);
	dmabuf = export_range(one, a.la, 0, 0, 0);
	p = map_fd(dmabuf, SIZE, PROT_READ | PROT_WRITE);
	strcpy(p + PAGE, "on the device");
	whole = import_fd(two, dmabuf, 0, 0, RW);
	EXPECT(whole.la == a.la && whole.device == SIM_MEDIUM, "device %u", whole.device);
	part = import_fd(two, dmabuf, PAGE, PAGE, RW);
	EXPECT(part.device == SIM_MEDIUM && AI_LA_DEVICE(part.la) == SIM_MEDIUM, "device %u",
	       part.device);
	close(one);
	close(dmabuf);
	if (sizeof(long) > 4) { /* a 32-bit process cannot name the offset to mmap() */
		q = map_import(two, &part);
		EXPECT(!strcmp(q, "on the device"), "other pages");
		munmap(q, PAGE);
	}
	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	again = export_range(two, part.la, 0, 0, 0);
	fix.in.la = import_fd(fix.fd, again, 0, 0, RW).la;
	close(again);
	FAILS(fix.fd, AI_INFER, &fix.call, EOPNOTSUPP, "cannot reach");
	EXPECT(!ai_free_la(fix.fd, fix.in.la), "%s", ai_sentence);
	close(two);
	munmap(p, SIZE);
	after = ai_device(ai_open(), SIM_MEDIUM);
	EXPECT(after.mem_free == before.mem_free, "%llu bytes are free, %llu before",
	       (unsigned long long)after.mem_free, (unsigned long long)before.mem_free);
}

/* The exporter goes: what is mapped reads as zeroes, what is not cannot be used. */
static void test_device_removed(void)
{
	int one = ai_open(), two = ai_open(), dmabuf;
	AI_ARG(ai_alloc, a, .bytes = SIZE, .device = SIM_MEDIUM, .perm = RW);
	struct ai_import whole;
	char *p, *q = NULL;

	WORKS(one, AI_ALLOC, &a);
	dmabuf = export_range(one, a.la, 0, 0, 0);
	p = map_fd(dmabuf, SIZE, PROT_READ | PROT_WRITE);
	memset(p, 0x42, SIZE);
	whole = import_fd(two, dmabuf, 0, 0, RW);
	if (sizeof(long) > 4) {
		q = map_import(two, &whole);
		EXPECT(*q == 0x42, "other pages");
	}
	sim_set("unplug", "1");
	EXPECT(all_bytes(p, SIZE, 0) && (!q || all_bytes(q, SIZE, 0)), "still there");
	*p = 1;
	EXPECT(import_fd(two, dmabuf, 0, 0, RW).la == whole.la, "another address");
	close(dmabuf);
	close(one);
	close(two);
}

/* ---- races ---- */

struct race {
	int fd, dmabuf;
	uint64_t la;
	volatile bool stop;
};

static void *race_import(void *arg)
{
	struct race *race = arg;
	uint64_t seed = (uintptr_t)pthread_self();

	while (!race->stop) {
		AI_ARG(ai_import, in, .fd = race->dmabuf, .perm = RW,
		       .offset = random_next(&seed) % 2 * PAGE);
		AI_ARG(ai_export, out);

		if (ai_call(race->fd, AI_IMPORT, &in))
			continue;
		out.la = in.la;
		if (!ai_call(race->fd, AI_EXPORT, &out))
			close(out.fd);
		ai_free_la(race->fd, in.la);
	}
	return NULL;
}

static void test_race(void)
{
	struct race race = { .fd = ai_open() };
	struct ai_alloc a = ai_get(race.fd, SIZE, AI_DEVICE_SYSTEM, RW);
	AI_ARG(ai_region_info, info, .la = a.la);
	pthread_t thread[4];
	unsigned int i;

	race.la = a.la;
	race.dmabuf = export_range(race.fd, a.la, 0, 0, 0);
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_create(&thread[i], NULL, race_import, &race);
	sleep_ns(SEC);
	race.stop = true;
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	/* The first handle is there still, and no other. */
	close(race.dmabuf);
	WORKS(race.fd, AI_REGION_INFO, &info);
	EXPECT(info.refs == 1, "%u references", info.refs);
	EXPECT(!ai_free_la(race.fd, a.la) && ai_free_la(race.fd, a.la) == -ENOENT, "handles");
}

static const struct tap_test tests[] = {
	{ "a range as a dma-buf", test_export, 0 },
	{ "a part of a range", test_export_part, 0 },
	{ "a range that others may only read", test_export_read_only, 0 },
	{ "exports that cannot be", test_bad_exports, 0 },
	{ "imported whole it is the same address", test_whole, 0 },
	{ "imported by its own file it is counted", test_own, 0 },
	{ "a part has an address of its own", test_part, 0 },
	{ "permissions do not grow", test_permissions, 0 },
	{ "another process", test_other_process, 0 },
	{ "importers that are killed", test_killed, 0 },
	{ "jobs of two open files share a tensor", test_jobs, 0 },
	{ "a driver of the kernel attaches", test_attached, 0 },
	{ "a dma-buf of udmabuf", test_udmabuf, 0 },
	{ "a dma-buf of the system's heap", test_heap, 0 },
	{ "a dma-buf of a DRM driver", test_vgem, 0 },
	{ "imports that cannot be", test_bad_imports, 0 },
	{ "memory of a device", test_device, 0 },
	{ "the device goes while it is shared", test_device_removed, 0 },
	{ "threads import, export and free one range", test_race, 0 },
};

TAP_MAIN(tests)
