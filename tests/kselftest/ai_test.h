/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of /dev/ai0 share: calls that check the error sentence, a
 * model of ai_sim with its memory ready to be called, ai_sim's parameters, and
 * the number of objects the kernel holds.
 */
#ifndef AI_TEST_H
#define AI_TEST_H

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "../../uapi/ai.h"
#include "tap.h"

#define MS 1000000LL
#define SEC 1000000000LL
#define PAGE 4096UL

/* The sentence of the last failed call of this thread. */
extern _Thread_local char ai_sentence[AI_ERROR_LEN];

#define AI_HDR(type)                                                                       \
	{                                                                                  \
		.size = sizeof(type), .error = (uintptr_t)ai_sentence, .error_len = AI_ERROR_LEN \
	}
/* An argument: AI_ARG(ai_free, arg, .la = la); */
#define AI_ARG(type, var, ...) struct type var = { .hdr = AI_HDR(struct type), ##__VA_ARGS__ }

long long now_ns(void);
void sleep_ns(long long ns);

int ai_open(void);
/* 0 or -errno. */
int ai_call(int fd, unsigned long cmd, void *arg);

/*
 * The call must fail with @error (or @other, if not 0) and with a sentence that
 * holds @word (if not NULL).
 */
bool ai_fails(const char *file, int line, int fd, const char *name, unsigned long cmd, void *arg,
	      int error, int other, const char *word);
#define FAILS(fd, cmd, arg, error, word) \
	ai_fails(__FILE__, __LINE__, fd, #cmd, cmd, arg, error, 0, word)
#define FAILS_EITHER(fd, cmd, arg, error, other, word) \
	ai_fails(__FILE__, __LINE__, fd, #cmd, cmd, arg, error, other, word)

/* The call must succeed and leave the buffer of the sentence alone. */
bool ai_works(const char *file, int line, int fd, const char *name, unsigned long cmd, void *arg);
#define WORKS(fd, cmd, arg) ai_works(__FILE__, __LINE__, fd, #cmd, cmd, arg)

/* ---- memory ---- */

struct ai_alloc ai_get(int fd, uint64_t bytes, uint32_t device, uint32_t perm);
void *ai_map(int fd, const struct ai_alloc *alloc);
int ai_free_la(int fd, uint64_t la);
/* The same with the range mapped: address in @address. */
struct ai_alloc ai_get_mapped(int fd, uint64_t bytes);
bool all_bytes(const void *memory, size_t bytes, unsigned char value);
/* Whether the byte can be read or written, without a signal. */
bool can_read(const volatile void *address);
bool can_write(volatile void *address);
/* A page that can be used, followed by one that cannot: its end is returned. */
char *end_of_page(void);

/* ---- devices ---- */

/*
 * ai_sim is loaded with these four devices before and after each test, unless it
 * has them already. On a machine with a real NPU or GPU bound the
 * numbers would differ: the tests want to be the only user of ai.ko.
 */
extern const char *const sim_default;
#define SIM_FAST AI_DEVICE(AI_CLASS_NPU, 0) /* ends a job within its submission */
#define SIM_MEDIUM AI_DEVICE(AI_CLASS_GPU, 0) /* 1 ms a job */
#define SIM_SLOW AI_DEVICE(AI_CLASS_NPU, 1) /* 50 ms a job */
#define SIM_OTHER AI_DEVICE(AI_CLASS_FPGA, 0) /* ends a job within its submission */
#define SIM_SLOW_NS (50 * MS)
#define SIM_DEPTH 4 /* jobs that each device takes */
#define SIM_MEMORY_BYTES (4UL << 20) /* that each device has */
#define SIM_DEVICES 4

struct ai_device_info ai_device(int fd, uint32_t device);

/* A parameter of ai_sim that may change while it is loaded. */
void sim_set(const char *parameter, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_reset(void); /* no job hangs or fails from now on */

/* 0 or -errno */
int module_unload(const char *name);
int module_load(const char *name, const char *parameters);
bool module_loaded(const char *name);
/* Unload and load ai_sim unless it has the devices above; 0 or -errno. */
int sim_ensure(void);

/* ---- models and inference ---- */

#define MODEL_COPY "ai-sim-model 1\nop copy\nin x 1 1 16\nout y 1 1 16\n"
#define MODEL_NULL "ai-sim-model 1\nin x 1 1 16\nout y 1 1 16\n"

uint32_t ai_load(int fd, uint32_t device, const char *text);
int ai_unload(int fd, uint32_t model);

/* A model of one input and one output of 16 floats, with memory for them. */
struct fixture {
	int fd;
	uint32_t device;
	uint32_t model;
	struct ai_alloc in_alloc, out_alloc;
	float *x, *y;
	struct ai_tensor in, out;
	struct ai_infer call;
};

void fixture_open(struct fixture *fix, uint32_t device, const char *text);
/* A second call of the same model: own argument, own tensors, same memory. */
void fixture_again(struct fixture *copy, const struct fixture *fix);
/* @call back to a valid one. */
void fixture_reset(struct fixture *fix);

/* A call of AI_INFER in a thread of its own. */
struct waiter {
	struct fixture fix; /* own argument and tensors */
	pthread_t thread;
	int ret; /* 0 or -errno, once joined */
	long long ended;
	char sentence[AI_ERROR_LEN];
};

void waiter_init(struct waiter *waiter, const struct fixture *fix);
void waiter_start(struct waiter *waiter);
void waiter_join(struct waiter *waiter);
/* Until so many jobs run or wait on the device. */
void device_wait_queued(int fd, uint32_t device, uint32_t jobs);

/* ---- what the kernel holds ---- */

/* Read from debugfs; zeroes without it. */
struct ai_held {
	long regions;
	long models; /* those regions among them that hold an artefact */
};

bool ai_held(struct ai_held *held);
/* Waits up to @ms for the regions to be no more than these. */
bool ai_held_at_most(const struct ai_held *most, int ms);
long file_number(const char *path, long otherwise);
bool file_write(const char *path, const char *text);
long meminfo_kib(const char *key);

/* Send an open file over a unix socket to another process. */
void send_fd(int socket, int fd);
int receive_fd(int socket);

/* xorshift, one state a caller */
uint64_t random_next(uint64_t *state);

#endif /* AI_TEST_H */
