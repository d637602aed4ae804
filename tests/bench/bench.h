/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measuring inside the VM. With the emulator's instruction counter on, a
 * nanosecond of CLOCK_MONOTONIC is an instruction; without it, time. What was
 * measured goes to stdout, a JSON object a line, for tests/bench/run.
 */
#ifndef BENCH_H
#define BENCH_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../uapi/ai.h"

#define BENCH_ROUNDS 7

static inline double bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

_Noreturn static inline void bench_die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline void bench_check(bool good, const char *what)
{
	if (!good)
		bench_die(what);
}

static inline void bench_print(const char *row, const char *who, const char *unit, double value)
{
	printf("{\"row\": \"%s\", \"who\": \"%s\", \"unit\": \"%s\", \"value\": %.1f}\n", row, who,
	       unit, value);
	fflush(stdout);
}

/*
 * Mean cost of @op in the best of the rounds: what comes in between, a timer or
 * another process, only ever adds.
 */
static inline double bench_measure(void (*op)(void *), void *arg, int times)
{
	double best = 0, start, mean;
	int round, i;

	for (i = 0; i < times / 4 + 2; i++)
		op(arg);
	for (round = 0; round < BENCH_ROUNDS; round++) {
		start = bench_now();
		for (i = 0; i < times; i++)
			op(arg);
		mean = (bench_now() - start) / times;
		if (!round || mean < best)
			best = mean;
	}
	return best;
}

static inline int bench_open(void)
{
	int fd = open("/dev/ai0", O_RDWR | O_CLOEXEC);

	bench_check(fd >= 0, "/dev/ai0");
	return fd;
}

/* The first device that runs models and is none but ai_sim's. */
static inline uint32_t bench_device(int fd)
{
	struct ai_device_info info = {
		.hdr = { .size = sizeof(info), .flags = AI_DEVICE_NEXT },
	};

	for (;; info.device++) {
		bench_check(!ioctl(fd, AI_DEVICE_INFO, &info), "no ai_sim device");
		if (strstr(info.engine, "ai_sim"))
			return info.device;
	}
}

static inline uint32_t bench_load(int fd, const char *text)
{
	struct ai_model_load arg = {
		.hdr = { .size = sizeof(arg) }, .data = (uintptr_t)text, .bytes = strlen(text),
		.device = bench_device(fd), .format = AI_FORMAT_ONNX, .name = "bench",
	};

	bench_check(!ioctl(fd, AI_MODEL_LOAD, &arg), "AI_MODEL_LOAD");
	return arg.model;
}

static inline struct ai_alloc bench_alloc(int fd, uint64_t bytes)
{
	struct ai_alloc arg = {
		.hdr = { .size = sizeof(arg), .flags = AI_ALLOC_MAP }, .bytes = bytes,
		.perm = AI_PERM_READ | AI_PERM_WRITE,
	};

	bench_check(!ioctl(fd, AI_ALLOC, &arg), "AI_ALLOC");
	return arg;
}

/* A call of a null model with one input and one output of @bytes. */
struct bench_call {
	int fd;
	struct ai_tensor in, out;
	struct ai_infer infer;
};

static inline void bench_call_init(struct bench_call *call, uint64_t bytes)
{
	char text[200];

	snprintf(text, sizeof(text), "ai-sim-model 1\nin x 2 %llu\nout y 2 %llu\n",
		 (unsigned long long)bytes, (unsigned long long)bytes);
	*call = (struct bench_call){ .fd = bench_open() };
	call->in = (struct ai_tensor){ .la = bench_alloc(call->fd, bytes).la, .bytes = bytes,
				       .dtype = AI_DTYPE_UINT8, .rank = 1, .dims = { bytes } };
	call->out = (struct ai_tensor){ .la = bench_alloc(call->fd, bytes).la, .bytes = bytes };
	call->infer = (struct ai_infer){
		.hdr = { .size = sizeof(call->infer) }, .inputs = (uintptr_t)&call->in,
		.outputs = (uintptr_t)&call->out, .nr_inputs = 1, .nr_outputs = 1,
		.model = bench_load(call->fd, text),
	};
}

static inline void bench_call_run(void *arg)
{
	struct bench_call *call = arg;

	bench_check(!ioctl(call->fd, AI_INFER, &call->infer), "AI_INFER");
}

#endif /* BENCH_H */
