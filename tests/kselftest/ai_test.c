// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "ai_test.h"

#include <dirent.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

_Thread_local char ai_sentence[AI_ERROR_LEN];

#define DEBUGFS "/sys/kernel/debug/ai/"
#define SIM_PARAMETERS "/sys/module/ai_sim/parameters/"

long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SEC + t.tv_nsec;
}

void sleep_ns(long long ns)
{
	struct timespec t = { .tv_sec = ns / SEC, .tv_nsec = ns % SEC };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

int ai_open(void)
{
	int fd = open("/dev/ai0", O_RDWR | O_CLOEXEC);

	ASSERT(fd >= 0, "/dev/ai0: %s", strerror(errno));
	return fd;
}

int ai_call(int fd, unsigned long cmd, void *arg)
{
	memset(ai_sentence, 0, sizeof(ai_sentence));
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

/* How a failed call may have filled the buffer of the sentence. */
static bool sentence_good(const char *file, int line, const char *name)
{
	size_t length = strnlen(ai_sentence, sizeof(ai_sentence));

	if (length == sizeof(ai_sentence))
		return tap_expect(false, file, line, "%s: sentence is not terminated", name);
	return tap_expect(length >= 8, file, line, "%s: no sentence: \"%s\"", name, ai_sentence);
}

bool ai_fails(const char *file, int line, int fd, const char *name, unsigned long cmd, void *arg,
	      int error, int other, const char *word)
{
	const struct ai_hdr *hdr = arg;
	int ret = -ai_call(fd, cmd, arg);

	if (ret != error && (!other || ret != other))
		return tap_expect(false, file, line, "%s: %s, want %s%s%s; sentence \"%s\"", name,
				  ret ? strerrorname_np(ret) : "success", strerrorname_np(error),
				  other ? " or " : "", other ? strerrorname_np(other) : "",
				  ai_sentence);
	if (hdr->error != (uintptr_t)ai_sentence)
		return true;
	if (!sentence_good(file, line, name))
		return false;
	return tap_expect(!word || strstr(ai_sentence, word), file, line,
			  "%s: sentence \"%s\" lacks \"%s\"", name, ai_sentence, word);
}

bool ai_works(const char *file, int line, int fd, const char *name, unsigned long cmd, void *arg)
{
	int ret = -ai_call(fd, cmd, arg);

	if (ret)
		return tap_expect(false, file, line, "%s: %s, want success; sentence \"%s\"", name,
				  strerrorname_np(ret), ai_sentence);
	return tap_expect(!ai_sentence[0], file, line, "%s: succeeds with the sentence \"%s\"",
			  name, ai_sentence);
}

/* ---- memory ---- */

struct ai_alloc ai_get(int fd, uint64_t bytes, uint32_t device, uint32_t perm)
{
	AI_ARG(ai_alloc, arg, .bytes = bytes, .device = device, .perm = perm);
	int ret = ai_call(fd, AI_ALLOC, &arg);

	ASSERT(!ret, "AI_ALLOC of %llu bytes on device %u: %s: %s", (unsigned long long)bytes,
	       device, strerror(-ret), ai_sentence);
	return arg;
}

void *ai_map(int fd, const struct ai_alloc *alloc)
{
	void *p = mmap64(NULL, alloc->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 alloc->mmap_offset);

	ASSERT(p != MAP_FAILED, "mmap of %llu bytes: %s", (unsigned long long)alloc->bytes,
	       strerror(errno));
	return p;
}

struct ai_alloc ai_get_mapped(int fd, uint64_t bytes)
{
	struct ai_alloc alloc = ai_get(fd, bytes, AI_DEVICE_SYSTEM, AI_PERM_READ | AI_PERM_WRITE);

	alloc.address = (uintptr_t)ai_map(fd, &alloc);
	return alloc;
}

int ai_free_la(int fd, uint64_t la)
{
	AI_ARG(ai_free, arg, .la = la);

	return ai_call(fd, AI_FREE, &arg);
}

bool all_bytes(const void *memory, size_t bytes, unsigned char value)
{
	const unsigned char *p = memory;

	return !bytes || (p[0] == value && !memcmp(p, p + 1, bytes - 1));
}

/* The kernel reaches the byte in our stead: a bad address is an error, no signal. */
static bool can_copy(void *from, void *to)
{
	struct iovec local = { .iov_base = from, .iov_len = 1 };
	int pipes[2];
	bool good;

	ASSERT(!pipe(pipes), "pipe: %s", strerror(errno));
	good = writev(pipes[1], &local, 1) == 1;
	local.iov_base = to;
	good = good && readv(pipes[0], &local, 1) == 1;
	close(pipes[0]);
	close(pipes[1]);
	return good;
}

bool can_read(const volatile void *address)
{
	char byte;

	return can_copy((void *)(uintptr_t)address, &byte);
}

bool can_write(volatile void *address)
{
	char byte = 0x77;

	return can_copy(&byte, (void *)(uintptr_t)address);
}

char *end_of_page(void)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(p != MAP_FAILED && !mprotect(p, 2 * PAGE, PROT_READ | PROT_WRITE),
	       "no memory: %s", strerror(errno));
	return p + 2 * PAGE;
}

/* ---- devices ---- */

const char *const sim_default = "devices=4 class=npu,gpu,npu,fpga latency_us=0,1000,50000,0 "
				"queue_depth=4 mem_mb=4";

struct ai_device_info ai_device(int fd, uint32_t device)
{
	AI_ARG(ai_device_info, arg, .device = device);
	int ret = ai_call(fd, AI_DEVICE_INFO, &arg);

	ASSERT(!ret, "AI_DEVICE_INFO of device %u: %s: %s", device, strerror(-ret), ai_sentence);
	return arg;
}

bool file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return good;
}

long file_number(const char *path, long otherwise)
{
	FILE *file = fopen(path, "re");
	long value = otherwise;

	if (file) {
		if (fscanf(file, "%ld", &value) != 1)
			value = otherwise;
		fclose(file);
	}
	return value;
}

void sim_set(const char *parameter, const char *fmt, ...)
{
	char path[200], text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), SIM_PARAMETERS "%s", parameter);
	ASSERT(file_write(path, text), "%s: cannot write %s: %s", path, text, strerror(errno));
}

void sim_reset(void)
{
	file_write(SIM_PARAMETERS "hang", "0");
	file_write(SIM_PARAMETERS "fail", "0");
}

bool module_loaded(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", name);
	return !access(path, F_OK);
}

int module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

/* Modules lie in the folder named by AI_MODULES, or where modprobe finds them. */
int module_load(const char *name, const char *parameters)
{
	const char *folder = getenv("AI_MODULES");
	char path[PATH_MAX];
	int fd = -1, ret;

	if (folder) {
		snprintf(path, sizeof(path), "%s/%s.ko", folder, name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0) {
		snprintf(path, sizeof(path), "modprobe %s %s", name, parameters);
		return system(path) ? -ENOENT : 0;
	}
	ret = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return ret;
}

/* ---- models and inference ---- */

uint32_t ai_load(int fd, uint32_t device, const char *text)
{
	AI_ARG(ai_model_load, arg, .data = (uintptr_t)text, .bytes = strlen(text),
	       .device = device, .format = AI_FORMAT_ONNX, .name = "test");
	int ret = ai_call(fd, AI_MODEL_LOAD, &arg);

	ASSERT(!ret, "AI_MODEL_LOAD on device %u: %s: %s", device, strerror(-ret), ai_sentence);
	return arg.model;
}

int ai_unload(int fd, uint32_t model)
{
	AI_ARG(ai_model_unload, arg, .model = model);

	return ai_call(fd, AI_MODEL_UNLOAD, &arg);
}

void fixture_reset(struct fixture *fix)
{
	fix->in = (struct ai_tensor){
		.la = fix->in_alloc.la, .bytes = 64, .dtype = AI_DTYPE_FLOAT, .rank = 2,
		.dims = { 1, 16 },
	};
	fix->out = (struct ai_tensor){ .la = fix->out_alloc.la, .bytes = 64 };
	fix->call = (struct ai_infer){
		.hdr = AI_HDR(struct ai_infer),
		.inputs = (uintptr_t)&fix->in, .outputs = (uintptr_t)&fix->out,
		.nr_inputs = 1, .nr_outputs = 1, .model = fix->model,
	};
}

void fixture_open(struct fixture *fix, uint32_t device, const char *text)
{
	int i;

	fix->fd = ai_open();
	fix->device = device;
	fix->model = ai_load(fix->fd, device, text);
	fix->in_alloc = ai_get_mapped(fix->fd, 4 * PAGE);
	fix->out_alloc = ai_get_mapped(fix->fd, 4 * PAGE);
	fix->x = (float *)(uintptr_t)fix->in_alloc.address;
	fix->y = (float *)(uintptr_t)fix->out_alloc.address;
	for (i = 0; i < 16; i++)
		fix->x[i] = i + 0.5f;
	fixture_reset(fix);
}

void fixture_again(struct fixture *copy, const struct fixture *fix)
{
	*copy = *fix;
	fixture_reset(copy);
}

static void *waiter_run(void *arg)
{
	struct waiter *waiter = arg;

	/* The sentence goes to the memory of the thread that makes the call. */
	waiter->fix.call.hdr.error = (uintptr_t)ai_sentence;
	waiter->ret = ai_call(waiter->fix.fd, AI_INFER, &waiter->fix.call);
	waiter->ended = now_ns();
	memcpy(waiter->sentence, ai_sentence, sizeof(waiter->sentence));
	return NULL;
}

void waiter_init(struct waiter *waiter, const struct fixture *fix)
{
	memset(waiter, 0, sizeof(*waiter));
	fixture_again(&waiter->fix, fix);
}

void waiter_start(struct waiter *waiter)
{
	ASSERT(!pthread_create(&waiter->thread, NULL, waiter_run, waiter), "no thread");
}

void waiter_join(struct waiter *waiter)
{
	pthread_join(waiter->thread, NULL);
}

void device_wait_queued(int fd, uint32_t device, uint32_t jobs)
{
	long long end = now_ns() + 5 * SEC * tap_slow();
	uint32_t queued;

	while ((queued = ai_device(fd, device).queued) != jobs && now_ns() < end)
		sleep_ns(MS);
	ASSERT(queued == jobs, "%u jobs on device %u, want %u", queued, device, jobs);
}

/* ---- what the kernel holds ---- */

/* A region a line; those of the kernel itself, the artefacts of models, are of file 0. */
bool ai_held(struct ai_held *held)
{
	FILE *file = fopen(DEBUGFS "gpt", "re");
	char line[300];

	*held = (struct ai_held){ 0 };
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		unsigned long long owner;

		if (strncmp(line, "0x", 2))
			continue;
		held->regions++;
		if (sscanf(line, "%*s %*s %*s %*s %*s %llu", &owner) == 1 && !owner)
			held->models++;
	}
	fclose(file);
	return true;
}

bool ai_held_at_most(const struct ai_held *most, int ms)
{
	long long end = now_ns() + ms * MS * tap_slow();
	struct ai_held held;

	do {
		if (!ai_held(&held) || held.regions <= most->regions)
			return true;
		sleep_ns(20 * MS);
	} while (now_ns() < end);
	return false;
}

long meminfo_kib(const char *key)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[200];
	long value = -1;

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':') {
			value = atol(line + strlen(key) + 1);
			break;
		}
	}
	fclose(file);
	return value;
}

uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- the harness ---- */

static struct ai_held held_before;

static bool sim_is_default(void)
{
	const char *const want[][2] = {
		{ "devices", "4" },
		{ "class", "npu,gpu,npu,fpga" },
		{ "latency_us", "0,1000,50000,0" },
		{ "queue_depth", "4" },
		{ "mem_mb", "4" },
	};
	unsigned int i;

	/* A test may have taken one away. */
	if (access("/sys/class/ai/npu0", F_OK) || access("/sys/class/ai/gpu0", F_OK) ||
	    access("/sys/class/ai/npu1", F_OK) || access("/sys/class/ai/fpga0", F_OK))
		return false;
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		char path[100], text[200] = "";
		FILE *file;

		snprintf(path, sizeof(path), SIM_PARAMETERS "%s", want[i][0]);
		file = fopen(path, "re");
		if (!file)
			return false;
		if (fscanf(file, "%199s", text) != 1)
			text[0] = 0;
		fclose(file);
		if (strcmp(text, want[i][1]))
			return false;
	}
	return true;
}

int sim_ensure(void)
{
	int ret;

	if (sim_is_default())
		return 0;
	ret = module_loaded("ai_sim") ? module_unload("ai_sim") : 0;
	return ret ?: module_load("ai_sim", sim_default);
}

void tap_before(void)
{
	int ret;

	if (access("/dev/ai0", F_OK)) {
		printf("Bail out! no /dev/ai0: load ai.ko\n");
		exit(1);
	}
	ret = sim_ensure();
	if (ret) {
		printf("Bail out! ai_sim %s: %s\n", sim_default, strerror(-ret));
		exit(1);
	}
	sim_reset();
	ai_held(&held_before);
}

const char *tap_after(void)
{
	static char left[200];
	struct ai_held held;
	int ret = sim_ensure();

	if (ret) {
		snprintf(left, sizeof(left), "ai_sim cannot be loaded again: %s", strerror(-ret));
		return left;
	}
	sim_reset();
	if (ai_held_at_most(&held_before, 5000))
		return NULL;
	ai_held(&held);
	snprintf(left, sizeof(left), "%ld regions, %ld of models; were %ld, %ld",
		 held.regions, held.models, held_before.regions, held_before.models);
	held_before = held;
	return left;
}

void send_fd(int socket, int fd)
{
	char byte = 1, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	ASSERT(sendmsg(socket, &msg, 0) == 1, "sendmsg: %s", strerror(errno));
}

int receive_fd(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;
	int fd;

	ASSERT(recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) == 1, "recvmsg: %s", strerror(errno));
	cmsg = CMSG_FIRSTHDR(&msg);
	ASSERT(cmsg && cmsg->cmsg_type == SCM_RIGHTS, "no descriptor");
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(int));
	return fd;
}
