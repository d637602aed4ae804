// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every allocation and every copy from and to the caller fails once: the first
 * of a call, then the second, and so on until one call gets through. Each failed
 * one answers ENOMEM or EFAULT and leaves nothing behind. Needs a kernel with
 * CONFIG_FAULT_INJECTION, its failslab, fail_page_alloc and fail_usercopy.
 */
#define _GNU_SOURCE
#include "contract_test.h"

#define RW (AI_PERM_READ | AI_PERM_WRITE)
#define DEBUG "/sys/kernel/debug/"
#define MOST 400 /* faults that one call may have */

static struct fixture fix;
static int fail_nth = -1;

static void setup(void)
{
	if (access("/proc/self/fail-nth", F_OK))
		SKIP("this kernel cannot inject faults");
	/* Allocations that may sleep fail, too, and single pages. */
	file_write(DEBUG "failslab/ignore-gfp-wait", "N");
	file_write(DEBUG "fail_page_alloc/ignore-gfp-wait", "N");
	file_write(DEBUG "fail_page_alloc/ignore-gfp-highmem", "N");
	file_write(DEBUG "fail_page_alloc/min-order", "0");
	file_write(DEBUG "failslab/verbose", "0");
	file_write(DEBUG "fail_page_alloc/verbose", "0");
	file_write(DEBUG "fail_usercopy/verbose", "0");
	fixture_open(&fix, SIM_FAST, MODEL_COPY);
}

/* The n-th chance to fail from here on is taken. */
static void arm(int n)
{
	char text[20];

	if (fail_nth < 0)
		fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	snprintf(text, sizeof(text), "%d", n);
	ASSERT(pwrite(fail_nth, text, strlen(text), 0) > 0, "fail-nth: %s", strerror(errno));
}

/* Whether it was taken. Reading and writing are chances themselves. */
static bool disarm(void)
{
	char text[20] = "";
	bool taken = pread(fail_nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);

	while (pwrite(fail_nth, "0", 1, 0) < 0)
		ASSERT(errno == EFAULT || errno == ENOMEM, "fail-nth: %s", strerror(errno));
	return taken;
}

/* Undoing must succeed: a fault may hit it, too, but only once. */
static void surely_free(uint64_t la)
{
	int tries;

	for (tries = 0; tries < 1000 && ai_free_la(fix.fd, la); tries++)
		;
}

static void surely_unload(uint32_t model)
{
	int tries;

	for (tries = 0; tries < 1000 && ai_unload(fix.fd, model); tries++)
		;
}

static void surely_unmap(void *p, size_t bytes)
{
	int tries;

	for (tries = 0; tries < 1000 && munmap(p, bytes); tries++)
		;
}

/*
 * A call that is made again and again. It answers 0 or -errno, and undoes what it
 * did if it worked.
 */
static void sweep(int line, const char *name, int (*action)(void))
{
	struct ai_held before;
	int n, failed = 0;

	action(); /* what is made once is made */
	sleep_ns(100 * MS * tap_slow()); /* and what is freed by a worker is freed */
	ai_held(&before);
	for (n = 1; n < MOST; n++) {
		bool taken;
		int ret;

		arm(n);
		ret = action();
		taken = disarm();
		failed += !!ret;
		tap_expect(!ret || ret == -ENOMEM || ret == -EFAULT, __FILE__, line,
			   "%s, fault %d: %s: %s", name, n, strerror(-ret), ai_sentence);
		if (!tap_expect(ai_held_at_most(&before, 500), __FILE__, line,
				"%s, fault %d: %s, leaves a region", name, n, strerror(-ret)))
			ai_held(&before);
		if (!taken)
			break;
	}
	tap_expect(n < MOST, __FILE__, line, "%s: does not get through", name);
	printf("# %s: %d chances, %d failures\n", name, n - 1, failed);
	tap_expect(!action(), __FILE__, line, "%s: does not work any more", name);
}

#define SWEEP(action) sweep(__LINE__, #action, action)

static int call(unsigned long cmd, void *arg)
{
	/* The sentence may be lost to a fault; the error may not. */
	return ioctl(fix.fd, cmd, arg) ? -errno : 0;
}

static int act_open(void)
{
	int fd = open("/dev/ai0", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int act_info(void)
{
	AI_ARG(ai_info, arg);

	return call(AI_INFO, &arg);
}

static int act_device_info(void)
{
	AI_ARG(ai_device_info, arg, .device = SIM_FAST);

	return call(AI_DEVICE_INFO, &arg);
}

static int act_dump(void)
{
	static char dump[1 << 16];
	AI_ARG(ai_dump, arg, .buffer = (uintptr_t)dump, .capacity = sizeof(dump),
	       .device = SIM_FAST);

	return call(AI_DUMP, &arg);
}

/*
 * Device memory is left out: when the buddy allocator of Linux 6.12.117 gets no
 * memory for a block it splits, it corrupts its own tree.
 */
static int alloc_free(uint64_t bytes, uint32_t flags)
{
	AI_ARG(ai_alloc, arg, .bytes = bytes, .perm = RW);
	int ret;

	arg.hdr.flags = flags;
	ret = call(AI_ALLOC, &arg);
	if (ret)
		return ret;
	surely_free(arg.la);
	if (arg.address)
		surely_unmap((void *)(uintptr_t)arg.address, arg.bytes);
	return 0;
}

static int act_alloc_page(void)
{
	return alloc_free(1, 0);
}

static int act_alloc_pieces(void)
{
	return alloc_free((5 << 20) + PAGE, 0);
}

static int act_alloc_map(void)
{
	return alloc_free(37 * PAGE, AI_ALLOC_MAP);
}

static int act_mmap(void)
{
	void *p = mmap64(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fix.fd,
			 fix.in_alloc.mmap_offset);

	if (p == MAP_FAILED)
		return -errno;
	surely_unmap(p, 4 * PAGE);
	return 0;
}

static int act_region_info(void)
{
	AI_ARG(ai_region_info, arg, .la = fix.in_alloc.la);

	return call(AI_REGION_INFO, &arg);
}

static int load_unload(const char *text, uint32_t flags)
{
	AI_ARG(ai_model_load, arg, .data = (uintptr_t)text, .bytes = strlen(text),
	       .device = SIM_FAST, .format = AI_FORMAT_ONNX, .name = "faults");
	int ret;

	arg.hdr.flags = flags;
	ret = call(AI_MODEL_LOAD, &arg);
	if (ret)
		return ret;
	surely_unload(arg.model);
	return 0;
}

static int act_load(void)
{
	return load_unload(MODEL_COPY, 0);
}

static int act_load_nowait(void)
{
	return load_unload(MODEL_COPY, AI_MODEL_NOWAIT);
}

static int act_model_info(void)
{
	struct ai_tensor_info io[2];
	AI_ARG(ai_model_info, arg, .model = fix.model, .tensors = (uintptr_t)io, .capacity = 2);

	return call(AI_MODEL_INFO, &arg);
}

static int act_infer(void)
{
	struct fixture mine;

	fixture_again(&mine, &fix);
	return call(AI_INFER, &mine.call);
}

/* Memory the device does not know yet. */
static int act_infer_fresh(void)
{
	AI_ARG(ai_alloc, arg, .bytes = PAGE, .perm = RW);
	struct fixture mine;
	int ret = call(AI_ALLOC, &arg);

	if (ret)
		return ret;
	fixture_again(&mine, &fix);
	mine.in.la = arg.la;
	ret = call(AI_INFER, &mine.call);
	surely_free(arg.la);
	return ret;
}

static uint32_t spare_model; /* on SIM_OTHER */

/* Of system memory, whose buddy allocator is of a size that needs no block split. */
static int act_contract(void)
{
	struct ai_memory_term memory = { .bytes = 16 * PAGE };
	AI_ARG(ai_contract_create, arg, .memory = (uintptr_t)&memory, .nr_memory = 1,
	       .terms = { .device = SIM_FAST, .service_ns = MS, .period_ns = SEC,
			  .latency_ns = SEC }, .name = "faults");
	int ret = call(AI_CONTRACT_CREATE, &arg);

	if (!ret)
		close(arg.fd);
	return ret;
}

static int infer_under(int contract)
{
	struct fixture mine;

	fixture_again(&mine, &fix);
	use_contract(&mine, contract);
	return call(AI_INFER, &mine.call);
}

static int act_contract_infer(void)
{
	AI_ARG(ai_contract_create, arg, .terms = { .device = SIM_FAST, .power_mw = 1 },
	       .name = "faults");
	int ret = call(AI_CONTRACT_CREATE, &arg);

	if (ret)
		return ret;
	ret = infer_under(arg.fd);
	close(arg.fd);
	return ret;
}

/* As sim_set(), which does not expect a fault. */
static int fail_next(void)
{
	int fd = open("/sys/module/ai_sim/parameters/fail", O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, "1", 1) == 1 ? 0 : -errno;
	close(fd);
	return ret;
}

/* The device fails the request, which runs on another one. */
static int act_contract_fallback(void)
{
	AI_ARG(ai_contract_create, arg,
	       .terms = { .device = SIM_FAST, .model = fix.model, .flags = AI_TERMS_CRITICAL,
			  .fallback = AI_FALLBACK_WARN, .fallback_model = spare_model },
	       .name = "faults");
	int ret = call(AI_CONTRACT_CREATE, &arg);

	if (ret)
		return ret;
	ret = fail_next();
	if (!ret)
		ret = infer_under(arg.fd);
	close(arg.fd);
	return ret;
}

static int act_cancel(void)
{
	AI_ARG(ai_cancel, arg, .cookie = 1);

	return call(AI_CANCEL, &arg);
}

static int act_unload(void)
{
	AI_ARG(ai_model_load, load, .data = (uintptr_t)MODEL_NULL, .bytes = strlen(MODEL_NULL),
	       .device = SIM_FAST, .format = AI_FORMAT_ONNX, .name = "faults");
	AI_ARG(ai_model_unload, arg);
	int ret = call(AI_MODEL_LOAD, &load);

	if (ret)
		return ret;
	arg.model = load.model;
	ret = call(AI_MODEL_UNLOAD, &arg);
	if (ret)
		surely_unload(load.model);
	return ret;
}

static void test_files(void)
{
	setup();
	SWEEP(act_open);
	SWEEP(act_info);
	SWEEP(act_device_info);
}

static void test_memory(void)
{
	setup();
	SWEEP(act_alloc_page);
	SWEEP(act_alloc_pieces);
	SWEEP(act_alloc_map);
	SWEEP(act_mmap);
	SWEEP(act_region_info);
}

static void test_models(void)
{
	setup();
	SWEEP(act_load);
	SWEEP(act_load_nowait);
	SWEEP(act_model_info);
	SWEEP(act_unload);
}

static void test_jobs(void)
{
	setup();
	SWEEP(act_infer);
	SWEEP(act_infer_fresh);
	SWEEP(act_cancel);
	SWEEP(act_dump);
}

/* A new file each time: what is made on first use is made under faults, too. */
static void test_from_nothing(void)
{
	struct ai_held before;
	int n;

	setup();
	ai_held(&before);
	for (n = 1; n < MOST; n++) {
		struct ai_held now = before;
		struct fixture first;
		int ret;

		fixture_open(&first, SIM_OTHER, MODEL_COPY);
		arm(n);
		ret = ioctl(first.fd, AI_INFER, &first.call) ? errno : 0;
		if (!disarm())
			n = MOST;
		EXPECT(!ret || ret == ENOMEM || ret == EFAULT, "fault %d: %s", n, strerror(ret));
		munmap(first.x, 4 * PAGE);
		munmap(first.y, 4 * PAGE);
		close(first.fd);
		EXPECT(ai_held_at_most(&now, 2000), "fault %d: leaves a region", n);
	}
}

/* Faults at random, in many threads, also where nobody can be told. */
static volatile int over;

static void *thread_faulty(void *arg)
{
	uint64_t seed = (uintptr_t)arg * 77 + 5;
	int (*const actions[])(void) = { act_open, act_alloc_page, act_alloc_pieces,
					 act_alloc_map, act_load, act_load_nowait,
					 act_infer, act_mmap };
	int file;

	file = open("/proc/thread-self/make-it-fail", O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, "1", 1) != 1)
		return NULL;
	while (!over) {
		int ret = actions[random_next(&seed) % 8]();

		EXPECT(!ret || ret == -ENOMEM || ret == -EFAULT, "%s", strerror(-ret));
	}
	while (pwrite(file, "0", 1, 0) != 1)
		ASSERT(errno == EFAULT || errno == ENOMEM, "make-it-fail: %s", strerror(errno));
	close(file);
	return NULL;
}

static void randomly(const char *probability)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		char path[100];

		snprintf(path, sizeof(path), DEBUG "%s/task-filter", kinds[i]);
		file_write(path, "Y");
		snprintf(path, sizeof(path), DEBUG "%s/times", kinds[i]);
		file_write(path, "-1");
		snprintf(path, sizeof(path), DEBUG "%s/probability", kinds[i]);
		file_write(path, probability);
	}
}

static void test_random(void)
{
	const char *seconds = getenv("AI_TEST_SECONDS");
	pid_t pid;
	int status;

	setup();
	randomly("3");
	pid = fork();
	if (!pid) {
		pthread_t threads[4];
		uintptr_t i;

		for (i = 0; i < 4; i++)
			ASSERT(!pthread_create(&threads[i], NULL, thread_faulty, (void *)i),
			       "no thread");
		sleep_ns((seconds ? atoll(seconds) : 10) * SEC);
		over = 1;
		for (i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	randomly("0");
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status 0x%x", status);
	WORKS(fix.fd, AI_INFER, &fix.call);
}

static void test_contracts(void)
{
	setup();
	SWEEP(act_contract);
	SWEEP(act_contract_infer);
	spare_model = ai_load(fix.fd, SIM_OTHER, MODEL_NULL);
	SWEEP(act_contract_fallback);
}

static const struct tap_test tests[] = {
	{ "faults in open and info", test_files, 180 },
	{ "faults in memory calls", test_memory, 300 },
	{ "faults in model calls", test_models, 300 },
	{ "faults in jobs", test_jobs, 300 },
	{ "faults in the first job of a file", test_from_nothing, 300 },
	{ "faults in contracts", test_contracts, 300 },
	{ "faults at random", test_random, 180 },
};

TAP_MAIN(tests)
