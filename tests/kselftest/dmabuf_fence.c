// SPDX-License-Identifier: GPL-2.0-only
/* Fences that others put on shared pages are waited for, and nobody waits for ever. */
#define _GNU_SOURCE
#include "dmabuf_test.h"

#include <linux/dma-buf.h>

#define SIZE (4 * PAGE)

/* The kernel's own words for it; they came with 6.0. */
#ifndef DMA_BUF_IOCTL_EXPORT_SYNC_FILE
struct dma_buf_export_sync_file {
	__u32 flags;
	__s32 fd;
};

struct dma_buf_import_sync_file {
	__u32 flags;
	__s32 fd;
};

#define DMA_BUF_IOCTL_EXPORT_SYNC_FILE _IOWR(DMA_BUF_BASE, 2, struct dma_buf_export_sync_file)
#define DMA_BUF_IOCTL_IMPORT_SYNC_FILE _IOW(DMA_BUF_BASE, 3, struct dma_buf_import_sync_file)
#endif

/* A job whose input is that range waits for writers alone, one whose output it is for all. */
static void used_by(struct fixture *fix, uint64_t la, bool readers_too, const char *who)
{
	uint64_t in = fix->in.la, out = fix->out.la;

	fix->in.la = la;
	fix->call.timeout_ns = now_ns() + 50 * MS;
	if (readers_too) {
		fix->call.timeout_ns = 0;
		WORKS(fix->fd, AI_INFER, &fix->call);
	} else {
		FAILS(fix->fd, AI_INFER, &fix->call, ETIME, who);
	}
	fix->in.la = in;
	fix->out.la = la;
	fix->call.timeout_ns = now_ns() + 50 * MS;
	FAILS(fix->fd, AI_INFER, &fix->call, ETIME, who);
	EXPECT(!fix->call.record.job, "there was a job");
	fix->out.la = out;
	fix->call.timeout_ns = 0;
}

static void test_imported(void)
{
	struct vgem vgem = vgem_new(SIZE);
	AI_ARG(ai_sync, sync);
	struct fixture fix;
	uint64_t la, own;
	uint32_t fence;
	int write;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	la = import_fd(fix.fd, vgem.dmabuf, 0, 0, RW).la;
	own = fix.in.la;
	for (write = 0; write < 2; write++) {
		fence = vgem_fence(&vgem, write);
		used_by(&fix, la, !write, "vgem");

		sync.la = la;
		sync.hdr.flags = AI_SYNC_WRITE;
		sync.timeout_ns = now_ns() + 20 * MS;
		FAILS(fix.fd, AI_SYNC, &sync, ETIME, "vgem");
		sync.hdr.flags = AI_SYNC_READ;
		sync.timeout_ns = now_ns() + 20 * MS;
		if (write)
			FAILS(fix.fd, AI_SYNC, &sync, ETIME, "vgem");
		else
			WORKS(fix.fd, AI_SYNC, &sync);

		vgem_signal(&vgem, fence);
		fix.in.la = la;
		fix.out.la = la;
		fix.out.offset = PAGE;
		WORKS(fix.fd, AI_INFER, &fix.call);
		fix.in.la = own;
		fixture_reset(&fix);
		sync.timeout_ns = 0;
		WORKS(fix.fd, AI_SYNC, &sync);
	}
}

/* Put on one dma-buf of a range, it counts for all of them and for the range. */
static void test_exported(void)
{
	struct vgem vgem = vgem_new(SIZE);
	struct dma_buf_export_sync_file from = { .flags = DMA_BUF_SYNC_RW };
	struct dma_buf_import_sync_file to = { .flags = DMA_BUF_SYNC_RW };
	struct fixture one, two;
	uint32_t fence;
	int part, whole;

	fixture_open(&one, SIM_FAST, MODEL_COPY);
	fixture_open(&two, SIM_FAST, MODEL_COPY);
	whole = export_range(one.fd, one.out_alloc.la, 0, 0, 0);
	part = export_range(one.fd, one.out_alloc.la, 0, PAGE, AI_EXPORT_READ_ONLY);
	two.in.la = import_fd(two.fd, part, 0, 0, AI_PERM_READ).la;
	fence = vgem_fence(&vgem, true);
	ASSERT(!ioctl(vgem.dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &from), "a sync_file: %s",
	       strerror(errno));
	to.fd = from.fd;
	ASSERT(!ioctl(whole, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &to), "a fence on ours: %s",
	       strerror(errno));
	one.call.timeout_ns = now_ns() + 50 * MS;
	FAILS(one.fd, AI_INFER, &one.call, ETIME, "vgem");
	two.call.timeout_ns = now_ns() + 50 * MS;
	FAILS(two.fd, AI_INFER, &two.call, ETIME, "vgem");
	vgem_signal(&vgem, fence);
	one.call.timeout_ns = 0;
	two.call.timeout_ns = 0;
	WORKS(one.fd, AI_INFER, &one.call);
	WORKS(two.fd, AI_INFER, &two.call);
}

/* Signalled while a job waits for it. */
static void test_signalled(void)
{
	struct vgem vgem = vgem_new(SIZE);
	struct waiter waiter;
	struct fixture fix;
	uint32_t fence = vgem_fence(&vgem, true);
	long long began;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.in.la = import_fd(fix.fd, vgem.dmabuf, 0, 0, RW).la;
	waiter_init(&waiter, &fix);
	waiter.fix.in.la = fix.in.la;
	began = now_ns();
	waiter_start(&waiter);
	sleep_ns(200 * MS);
	vgem_signal(&vgem, fence);
	waiter_join(&waiter);
	EXPECT(!waiter.ret && waiter.ended - began >= 200 * MS, "%d after %lld ms: %s", waiter.ret,
	       (waiter.ended - began) / MS, waiter.sentence);
}

static void nothing(int signal)
{
	(void)signal;
}

/* A signal that is caught changes nothing; one that kills ends the wait. */
static void test_signals(void)
{
	struct vgem vgem = vgem_new(SIZE);
	uint32_t fence = vgem_fence(&vgem, true);
	struct sigaction action = { .sa_handler = nothing };
	struct fixture fix;
	int status;
	pid_t pid;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.in.la = import_fd(fix.fd, vgem.dmabuf, 0, 0, RW).la;
	sigaction(SIGUSR1, &action, NULL);
	pid = fork();
	if (!pid) {
		ai_call(fix.fd, AI_INFER, &fix.call);
		_exit(1);
	}
	sleep_ns(100 * MS);
	kill(pid, SIGUSR1);
	sleep_ns(100 * MS);
	EXPECT(!waitpid(pid, &status, WNOHANG), "a caught signal ended it");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status 0x%x", status);
	vgem_signal(&vgem, fence);
}

/* Without a time-out of the caller that of the device holds. */
static void test_never(void)
{
	struct vgem vgem = vgem_new(SIZE);
	struct fixture fix;
	char parameters[200];
	long long began;

	/* vgem itself gives up after 10 s. */
	snprintf(parameters, sizeof(parameters), "%s job_timeout_ms=2000", sim_default);
	ASSERT(!module_unload("ai_sim") && !module_load("ai_sim", parameters), "no ai_sim");
	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.in.la = import_fd(fix.fd, vgem.dmabuf, 0, 0, RW).la;
	vgem_fence(&vgem, true);
	began = now_ns();
	FAILS(fix.fd, AI_INFER, &fix.call, ETIME, "vgem");
	EXPECT(now_ns() - began >= 2 * SEC, "%lld ms", (now_ns() - began) / MS);
	close(fix.fd);
	ASSERT(!module_unload("ai_sim") && !module_load("ai_sim", sim_default), "no ai_sim");
}

static void test_bad_syncs(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get(fd, PAGE, AI_DEVICE_SYSTEM, RW);
	AI_ARG(ai_sync, arg, .la = a.la);

	FAILS(fd, AI_SYNC, &arg, EINVAL, "AI_SYNC_READ");
	arg.hdr.flags = AI_SYNC_END;
	FAILS(fd, AI_SYNC, &arg, EINVAL, "AI_SYNC_READ");
	arg.hdr.flags = AI_SYNC_END | AI_SYNC_READ;
	arg.timeout_ns = now_ns() + SEC;
	FAILS(fd, AI_SYNC, &arg, EINVAL, "timeout_ns");
	arg.hdr.flags = AI_SYNC_READ;
	arg.timeout_ns = -1;
	FAILS(fd, AI_SYNC, &arg, EINVAL, "timeout_ns is -1");
	arg.timeout_ns = 0;
	arg.hdr.flags = 8 | AI_SYNC_READ;
	FAILS(fd, AI_SYNC, &arg, EINVAL, "flags");
	arg.hdr.flags = AI_SYNC_READ | AI_SYNC_WRITE;
	WORKS(fd, AI_SYNC, &arg);
	arg.hdr.flags |= AI_SYNC_END;
	WORKS(fd, AI_SYNC, &arg);
	arg.la = a.la + 1;
	FAILS_EITHER(fd, AI_SYNC, &arg, ENOENT, EACCES, NULL);
}

static const struct tap_test tests[] = {
	{ "on what was imported", test_imported, 0 },
	{ "on what was exported", test_exported, 0 },
	{ "one that signals meanwhile", test_signalled, 0 },
	{ "signals to who waits", test_signals, 0 },
	{ "one that never signals", test_never, 0 },
	{ "syncs that cannot be", test_bad_syncs, 0 },
};

TAP_MAIN(tests)
