// SPDX-License-Identifier: GPL-2.0-only
/* Files, devices and modules that go while others still use them. */
#define _GNU_SOURCE
#include "ai_test.h"

#include <dirent.h>

#define RW (AI_PERM_READ | AI_PERM_WRITE)

static struct fixture fix;

static void unload_sim(void)
{
	int ret = module_unload("ai_sim");

	ASSERT(!ret, "rmmod ai_sim: %s", strerror(-ret));
}

static void load_sim(const char *parameters)
{
	int ret = module_load("ai_sim", parameters);

	ASSERT(!ret, "insmod ai_sim %s: %s", parameters, strerror(-ret));
}

/* ---- files ---- */

static void test_close_with_jobs(void)
{
	struct ai_held before;
	struct waiter w[6];
	int i;

	ai_held(&before);
	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	for (i = 0; i < 6; i++) {
		waiter_init(&w[i], &fix);
		waiter_start(&w[i]);
	}
	sleep_ns(10 * MS);
	close(fix.fd); /* the calls under way hold the file */
	for (i = 0; i < 6; i++)
		waiter_join(&w[i]);
	for (i = 0; i < 6; i++)
		EXPECT(!w[i].ret || w[i].ret == -EBADF, "%s: %s", strerror(-w[i].ret),
		       w[i].sentence);
	munmap(fix.x, 4 * PAGE);
	munmap(fix.y, 4 * PAGE);
	EXPECT(ai_held_at_most(&before, 2000), "regions are left");
}

static void test_fork_exit(void)
{
	int round, status;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	for (round = 0; round < 20; round++) {
		pid_t pid = fork();

		if (!pid) {
			WORKS(fix.fd, AI_INFER, &fix.call);
			ai_get_mapped(fix.fd, PAGE);
			_exit(0);
		}
		if (round & 1)
			WORKS(fix.fd, AI_INFER, &fix.call);
		waitpid(pid, &status, 0);
		EXPECT(!status, "status 0x%x", status);
	}
	WORKS(fix.fd, AI_INFER, &fix.call);
}

static void test_exec(void)
{
	int status;
	pid_t pid;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	pid = fork();
	if (!pid) {
		char path[40];

		/* O_CLOEXEC: the new program has no descriptor, its memory no mapping. */
		snprintf(path, sizeof(path), "test ! -e /proc/self/fd/%d", fix.fd);
		execl("/bin/sh", "sh", "-c", path, (char *)NULL);
		_exit(2);
	}
	waitpid(pid, &status, 0);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status 0x%x", status);
	WORKS(fix.fd, AI_INFER, &fix.call);
}

static void test_many_files(void)
{
	static int fds[1000];
	const int many = tap_less(1000);
	int i;

	for (i = 0; i < many; i++)
		fds[i] = ai_open();
	for (i = 0; i < many; i += 10) {
		ai_get(fds[i], PAGE, AI_DEVICE_SYSTEM, RW);
		ai_load(fds[i], SIM_FAST, MODEL_NULL);
	}
	for (i = 0; i < many; i++)
		close(fds[i]);
}

/* ---- ai_sim goes ---- */

static void test_unload_idle(void)
{
	AI_ARG(ai_device_info, info, .device = SIM_FAST);
	AI_ARG(ai_model_info, model);
	AI_ARG(ai_info, all);
	struct ai_alloc a;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	WORKS(fix.fd, AI_INFER, &fix.call);
	unload_sim();
	FAILS(fix.fd, AI_DEVICE_INFO, &info, ENOENT, NULL);
	WORKS(fix.fd, AI_INFO, &all);
	EXPECT(!all.nr_devices, "%u devices", all.nr_devices);
	FAILS_EITHER(fix.fd, AI_INFER, &fix.call, ENODEV, ENOENT, NULL);
	model.model = fix.model;
	WORKS(fix.fd, AI_MODEL_INFO, &model);
	EXPECT(model.state == AI_MODEL_FAILED && model.reason[0], "state %u, reason \"%s\"",
	       model.state, model.reason);

	/* What is in system memory is there as before. */
	EXPECT(fix.x[3] == 3.5f && fix.y[3] == 3.5f, "data is gone");
	a = ai_get_mapped(fix.fd, PAGE);
	EXPECT(!ai_free_la(fix.fd, a.la), "%s", ai_sentence);
	EXPECT(!ai_free_la(fix.fd, fix.in_alloc.la), "%s", ai_sentence);
	EXPECT(!ai_unload(fix.fd, fix.model), "%s", ai_sentence);
}

static void test_unload_with_jobs(void)
{
	struct waiter w[SIM_DEPTH + 5];
	int i;

	/* Some hang on the device, some wait for it. */
	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	sim_set("hang", "%d", SIM_DEPTH);
	for (i = 0; i < SIM_DEPTH + 5; i++) {
		waiter_init(&w[i], &fix);
		waiter_start(&w[i]);
	}
	device_wait_queued(fix.fd, SIM_SLOW, SIM_DEPTH + 5);
	unload_sim();
	for (i = 0; i < SIM_DEPTH + 5; i++) {
		waiter_join(&w[i]);
		EXPECT(w[i].ret == -ENODEV, "job %d: %s", i, strerror(-w[i].ret));
		EXPECT(w[i].sentence[0], "job %d: no sentence", i);
	}
	FAILS_EITHER(fix.fd, AI_INFER, &fix.call, ENODEV, ENOENT, NULL);
}

static void test_unload_while_loading(void)
{
	struct ai_held before;
	AI_ARG(ai_model_info, info);
	AI_ARG(ai_model_load, load, .data = (uintptr_t)MODEL_COPY, .format = AI_FORMAT_ONNX,
	       .device = SIM_FAST, .name = "x");
	static const char slow[] = "ai-sim-model 1\ncompile_ms 20000\nin x 1 4\nout y 1 4\n";
	int fd = ai_open();
	long long start = now_ns();

	ai_held(&before);
	load.data = (uintptr_t)slow;
	load.bytes = strlen(slow);
	load.hdr.flags = AI_MODEL_NOWAIT;
	WORKS(fd, AI_MODEL_LOAD, &load);
	unload_sim();
	EXPECT(now_ns() - start < 5 * SEC, "rmmod waits for the model");
	info.model = load.model;
	WORKS(fd, AI_MODEL_INFO, &info);
	EXPECT(info.state == AI_MODEL_FAILED && info.reason[0], "state %u", info.state);
	EXPECT(!ai_unload(fd, load.model), "%s", ai_sentence);
	EXPECT(ai_held_at_most(&before, 2000), "the model is left");
}

/* An old file goes on with a new device of the same number. */
static void test_again_same_file(void)
{
	int round;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	for (round = 0; round < tap_less(5); round++) {
		uint32_t old = fix.model;

		WORKS(fix.fd, AI_INFER, &fix.call);
		unload_sim();
		load_sim(sim_default);
		fixture_reset(&fix);
		FAILS_EITHER(fix.fd, AI_INFER, &fix.call, ENODEV, ENOENT, NULL);
		fix.model = ai_load(fix.fd, SIM_FAST, MODEL_COPY);
		EXPECT(fix.model != old, "handle comes back");
		fixture_reset(&fix);
		fix.y[8] = 0;
		WORKS(fix.fd, AI_INFER, &fix.call);
		EXPECT(fix.y[8] == 8.5f, "output %f", fix.y[8]);
	}
}

static void test_device_memory_gone(void)
{
	AI_ARG(ai_alloc, a, .bytes = 3 << 20, .device = SIM_MEDIUM, .perm = RW);
	AI_ARG(ai_alloc, untouched, .bytes = 64 << 10, .device = SIM_MEDIUM, .perm = RW);
	AI_ARG(ai_region_info, info);
	volatile char *p, *q;
	int fd = ai_open(), ret;
	size_t i;

	a.hdr.flags = untouched.hdr.flags = AI_ALLOC_MAP;
	WORKS(fd, AI_ALLOC, &a);
	WORKS(fd, AI_ALLOC, &untouched);
	p = (char *)(uintptr_t)a.address;
	q = (char *)(uintptr_t)untouched.address;
	for (i = 0; i < 2 << 20; i += PAGE)
		p[i] = 0x12;
	unload_sim();

	/* No signal for reading and writing, and nothing of the device is seen. */
	for (i = 0; i < 3 << 20; i += 37 * PAGE) {
		char was = p[i];

		EXPECT(was != 0x12, "the memory of the device is still there at %zu", i);
		p[i] = 1;
	}
	q[5] = q[6];
	info.la = a.la;
	ret = ai_call(fd, AI_REGION_INFO, &info);
	EXPECT(!ret || ret == -ENODEV || ret == -ENOENT, "%s", strerror(-ret));
	EXPECT(!ai_free_la(fd, a.la), "%s", ai_sentence);
	p[0] = 2;
	munmap((void *)p, a.bytes);
}

static void test_device_memory_other(void)
{
	AI_ARG(ai_alloc, a, .bytes = PAGE, .device = SIM_MEDIUM, .perm = RW);
	struct ai_alloc fresh;
	int fd = ai_open(), ret;
	char *p;

	a.hdr.flags = AI_ALLOC_MAP;
	WORKS(fd, AI_ALLOC, &a);
	p = (char *)(uintptr_t)a.address;
	p[0] = 5;
	unload_sim();
	load_sim(sim_default);

	/* The new device of that number does not know memory of the old one. */
	fixture_open(&fix, SIM_MEDIUM, MODEL_COPY);
	close(fix.fd);
	fix.fd = fd;
	fix.model = ai_load(fd, SIM_MEDIUM, MODEL_COPY);
	fix.in_alloc = ai_get_mapped(fd, PAGE);
	fix.out_alloc = ai_get_mapped(fd, PAGE);
	fixture_reset(&fix);
	WORKS(fd, AI_INFER, &fix.call);
	fix.in.la = a.la;
	ret = ai_call(fd, AI_INFER, &fix.call);
	EXPECT(ret == -ENODEV || ret == -ENOENT || ret == -EOPNOTSUPP, "%s: %s",
	       ret ? strerror(-ret) : "works", ai_sentence);
	EXPECT(ai_device(fd, SIM_MEDIUM).mem_free == SIM_MEMORY_BYTES, "counts the old memory");
	fresh = ai_get(fd, PAGE, SIM_MEDIUM, RW);
	EXPECT(fresh.la != a.la, "the same address twice");
	p[0] = 6;
	EXPECT(!ai_free_la(fd, a.la), "%s", ai_sentence);
	munmap(p, PAGE);
	EXPECT(ai_device(fd, SIM_MEDIUM).mem_free == SIM_MEMORY_BYTES - PAGE,
	       "old memory is freed into the new device");
}

/* ---- while others work ---- */

static volatile int over;
static unsigned int rounds_done;

static void *thread_work(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 11;

	while (!over) {
		int fd = ai_open(), i, ret;
		uint32_t device = (uint32_t[]){ SIM_FAST, SIM_MEDIUM, SIM_OTHER }[
			random_next(&seed) % 3];
		AI_ARG(ai_model_load, load, .data = (uintptr_t)MODEL_COPY,
		       .bytes = strlen(MODEL_COPY), .device = device,
		       .format = AI_FORMAT_ONNX, .name = "x");
		struct ai_alloc a = ai_get_mapped(fd, PAGE);
		AI_ARG(ai_alloc, d, .bytes = 5 * PAGE, .device = device, .perm = RW);
		struct ai_tensor in = { .la = a.la, .bytes = 64, .dtype = AI_DTYPE_FLOAT,
					.rank = 2, .dims = { 1, 16 } };
		struct ai_tensor out = { .la = a.la, .offset = 64, .bytes = 64 };
		AI_ARG(ai_infer, call, .inputs = (uintptr_t)&in, .outputs = (uintptr_t)&out,
		       .nr_inputs = 1, .nr_outputs = 1);

		d.hdr.flags = AI_ALLOC_MAP;
		ret = ai_call(fd, AI_ALLOC, &d);
		EXPECT(!ret || ret == -ENODEV || ret == -ENOENT || ret == -ENOSPC, "%s: %s",
		       strerror(-ret), ai_sentence);
		if (!ret) {
			volatile char *p = (char *)(uintptr_t)d.address;

			p[0] = 1;
			p[4 * PAGE] = p[PAGE];
		}
		if (!ret)
			munmap((void *)(uintptr_t)d.address, d.bytes);
		ret = ai_call(fd, AI_MODEL_LOAD, &load);
		EXPECT(!ret || ret == -ENODEV || ret == -ENOENT, "%s: %s", strerror(-ret),
		       ai_sentence);
		call.model = load.model;
		for (i = 0; !ret && i < 20; i++) {
			ret = ai_call(fd, AI_INFER, &call);
			EXPECT(!ret || ret == -ENODEV, "%s: %s", strerror(-ret), ai_sentence);
			rounds_done += !ret;
		}
		munmap((void *)(uintptr_t)a.address, PAGE);
		close(fd);
	}
	return NULL;
}

static void *thread_sysfs(void *arg)
{
	static const char *const names[] = { "npu0", "gpu0", "npu1", "fpga0" };
	unsigned int i = 0;

	(void)arg;
	while (!over) {
		const char *name = names[i++ % 4];
		char path[400], text[4096];
		struct dirent *entry;
		DIR *dir;

		snprintf(path, sizeof(path), "/sys/class/ai/%s", name);
		dir = opendir(path);
		while (dir && (entry = readdir(dir))) {
			int file;

			snprintf(path, sizeof(path), "/sys/class/ai/%s/%s", name,
				 entry->d_name);
			file = open(path, O_RDONLY | O_CLOEXEC);
			if (file >= 0) {
				if (read(file, text, sizeof(text)) < 0)
					EXPECT(errno == ENODEV || errno == EISDIR || errno == EIO ||
					       errno == EACCES || errno == EINVAL, "%s: %s", path,
					       strerror(errno));
				close(file);
			}
		}
		if (dir)
			closedir(dir);
		file_number("/sys/kernel/debug/ai/gpt", 0);
	}
	return NULL;
}

static void test_reload_under_load(void)
{
	pthread_t threads[5];
	int round, ret;
	uintptr_t i;

	for (i = 0; i < 4; i++)
		ASSERT(!pthread_create(&threads[i], NULL, thread_work, (void *)i), "no thread");
	ASSERT(!pthread_create(&threads[4], NULL, thread_sysfs, NULL), "no thread");
	for (round = 0; round < tap_less(15); round++) {
		sleep_ns(100 * MS);
		ret = module_unload("ai_sim");
		/* Somebody reads an attribute right now. */
		if (ret == -EAGAIN || ret == -EBUSY)
			continue;
		ASSERT(!ret, "rmmod ai_sim: %s", strerror(-ret));
		sleep_ns(round % 3 * 10 * MS);
		load_sim(sim_default);
	}
	over = 1;
	for (i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	printf("# %u inferences between the reloads\n", rounds_done);
	EXPECT(rounds_done, "nothing worked");
	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(ai_device(fix.fd, SIM_MEDIUM).mem_free == SIM_MEMORY_BYTES, "memory is lost");
}

/* ---- ai.ko ---- */

static bool others_use_ai(void)
{
	return module_loaded("ai_npu");
}

static void test_unload_core_in_use(void)
{
	int fd, ret = module_unload("ai");

	EXPECT(ret == -EAGAIN || ret == -EBUSY, "rmmod ai with devices: %s", strerror(-ret));
	if (others_use_ai())
		SKIP("another driver uses ai.ko");
	fd = ai_open();
	unload_sim();
	ret = module_unload("ai");
	EXPECT(ret == -EAGAIN || ret == -EBUSY, "rmmod ai with an open file: %s", strerror(-ret));
	if (!ret)
		module_load("ai", "");
	close(fd);
}

static void test_unload_core_mapped(void)
{
	struct ai_alloc a;
	int fd, ret;
	char *p;

	if (others_use_ai())
		SKIP("another driver uses ai.ko");
	fd = ai_open();
	a = ai_get_mapped(fd, PAGE);
	p = (char *)(uintptr_t)a.address;
	close(fd);
	unload_sim();
	ret = module_unload("ai");
	EXPECT(ret == -EAGAIN || ret == -EBUSY, "rmmod ai with a mapping: %s", strerror(-ret));
	if (!ret)
		module_load("ai", "");
	p[0] = 1;
	munmap(p, PAGE);
}

static void test_reload_core(void)
{
	int round, ret, tries;

	if (others_use_ai())
		SKIP("another driver uses ai.ko");
	for (round = 0; round < tap_less(5); round++) {
		fixture_open(&fix, SIM_MEDIUM, MODEL_COPY);
		WORKS(fix.fd, AI_INFER, &fix.call);
		munmap(fix.x, 4 * PAGE);
		munmap(fix.y, 4 * PAGE);
		close(fix.fd);
		/* At once: what the file held may still be on its way out. */
		unload_sim();
		for (tries = 0; (ret = module_unload("ai")) == -EAGAIN && tries < 50; tries++)
			sleep_ns(20 * MS);
		ASSERT(!ret, "rmmod ai: %s", strerror(-ret));
		EXPECT(access("/dev/ai0", F_OK), "/dev/ai0 is still there");
		ret = module_load("ai", "");
		ASSERT(!ret, "insmod ai: %s", strerror(-ret));
		load_sim(sim_default);
		for (tries = 0; access("/dev/ai0", F_OK) && tries < 50; tries++)
			sleep_ns(20 * MS);
	}
	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	WORKS(fix.fd, AI_INFER, &fix.call);
}

/* ---- parameters of ai_sim ---- */

static void test_bad_parameters(void)
{
	static const char *const bad[] = { "devices=0", "devices=65", "class=toaster",
					   "queue_depth=0", "queue_depth=1000", "mem_mb=3" };
	unsigned int i;

	unload_sim();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		int ret = module_load("ai_sim", bad[i]);

		EXPECT(ret, "%s works", bad[i]);
		if (!ret)
			unload_sim();
	}
	load_sim("devices=64");
	EXPECT(ai_device(ai_open(), AI_DEVICE(AI_CLASS_NPU, 63)).queue_depth, "device 63");
	unload_sim();
}

static void test_no_memory(void)
{
	AI_ARG(ai_alloc, a, .bytes = PAGE, .device = SIM_FAST, .perm = RW);
	struct ai_device_info info;
	int fd = ai_open();

	unload_sim();
	load_sim("devices=1");
	info = ai_device(fd, SIM_FAST);
	EXPECT(!info.mem_total && !(info.properties & AI_DEVICE_F_MEMORY), "has memory");
	FAILS(fd, AI_ALLOC, &a, EOPNOTSUPP, NULL);
}

static const struct tap_test tests[] = {
	{ "a file is closed while its jobs run", test_close_with_jobs, 0 },
	{ "children end and the file goes on", test_fork_exit, 0 },
	{ "exec leaves nothing open", test_exec, 0 },
	{ "1000 files", test_many_files, 0 },
	{ "an idle device goes", test_unload_idle, 0 },
	{ "a device goes while jobs wait: ENODEV", test_unload_with_jobs, 0 },
	{ "a device goes while it compiles", test_unload_while_loading, 0 },
	{ "an old file uses a new device", test_again_same_file, 0 },
	{ "mapped memory of a device that went", test_device_memory_gone, 0 },
	{ "memory of a device is none of its successor", test_device_memory_other, 0 },
	{ "devices come and go under load", test_reload_under_load, 120 },
	{ "ai.ko stays while it is used", test_unload_core_in_use, 0 },
	{ "ai.ko stays while its memory is mapped", test_unload_core_mapped, 0 },
	{ "ai.ko can be loaded again", test_reload_core, 120 },
	{ "bad parameters of ai_sim are refused", test_bad_parameters, 0 },
	{ "a device without memory", test_no_memory, 0 },
};

TAP_MAIN(tests)
