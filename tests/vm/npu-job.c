// SPDX-License-Identifier: GPL-2.0-only
/*
 * One job on a device, for the scenarios in this folder: loads a model made up
 * here, runs it, checks the result, and prints what happened in one line:
 *
 *	result=OK ms=12 generation=0 rerun=0 device=npu0 sentence=
 *
 * The model adds x to itself, with --matmul it multiplies x with itself, which
 * takes as long as one likes. Exit status: 0, 1 if a call failed, 2 if the data is
 * wrong, 3 if nothing could be tried.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include "../../uapi/ai.h"

#define DTYPE AI_DTYPE_FLOAT

static char sentence[AI_ERROR_LEN];

static struct {
	uint32_t device;
	uint32_t home; /* of the memory */
	uint64_t size; /* elements, or rows */
	long timeout_ms;
	int repeat;
	int pause_ms;
	int matmul;
	unsigned long beside; /* device on which the same file is to work meanwhile */
	int crowd; /* so many open files before, closed at once */
	const char *from; /* whom the memory is imported from: udmabuf, heap, memfd, user */
	int wait_line; /* load, then go on when a line comes from standard input */
} options = { .device = AI_DEVICE_ANY, .size = 1000, .repeat = 1 };

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static struct ai_hdr header(size_t size)
{
	return (struct ai_hdr){
		.size = size,
		.error = (uintptr_t)sentence,
		.error_len = sizeof(sentence),
	};
}

/* ---- a model, as ONNX writes it: a protocol buffer ---- */

struct bytes {
	unsigned char data[1024];
	size_t size;
};

static void put(struct bytes *to, const void *data, size_t size)
{
	if (to->size + size > sizeof(to->data))
		exit(3);
	memcpy(to->data + to->size, data, size);
	to->size += size;
}

/* All numbers here are below 128, all lengths below 16384. */
static void put_number(struct bytes *to, unsigned int field, unsigned char value)
{
	unsigned char tag = field << 3;

	put(to, &tag, 1);
	put(to, &value, 1);
}

static void put_field(struct bytes *to, unsigned int field, const void *data, size_t size)
{
	unsigned char head[3] = { field << 3 | 2, (size & 127) | 128, size >> 7 };

	put(to, head, sizeof(head));
	put(to, data, size);
}

static void put_text(struct bytes *to, unsigned int field, const char *text)
{
	put_field(to, field, text, strlen(text));
}

static void put_value(struct bytes *graph, unsigned int field, const char *name)
{
	struct bytes dim = {}, shape = {}, tensor = {}, type = {}, value = {};
	int rank = options.matmul ? 2 : 1;

	put_text(&dim, 2, "n");
	while (rank--)
		put_field(&shape, 1, dim.data, dim.size);
	put_number(&tensor, 1, DTYPE);
	put_field(&tensor, 2, shape.data, shape.size);
	put_field(&type, 1, tensor.data, tensor.size);
	put_text(&value, 1, name);
	put_field(&value, 2, type.data, type.size);
	put_field(graph, field, value.data, value.size);
}

static void make_model(struct bytes *model)
{
	struct bytes node = {}, graph = {}, opset = {};

	put_text(&node, 1, "x");
	put_text(&node, 1, "x");
	put_text(&node, 2, "y");
	put_text(&node, 4, options.matmul ? "MatMul" : "Add");
	put_field(&graph, 1, node.data, node.size);
	put_text(&graph, 2, "g");
	put_value(&graph, 11, "x");
	put_value(&graph, 12, "y");
	put_number(&opset, 2, 13);
	put_number(model, 1, 8);
	put_field(model, 7, graph.data, graph.size);
	put_field(model, 8, opset.data, opset.size);
}

/* ---- the call ---- */

static void report(const char *step, int error, long long ms, const struct ai_record *record)
{
	static const struct ai_record none;

	if (!record)
		record = &none;
	printf("result=%s step=%s ms=%lld generation=%u rerun=%d device=%s sentence=%s\n",
	       error ? strerrorname_np(error) : "OK", step, ms, record->generation,
	       !!(record->flags & AI_RECORD_RERUN), record->device_name, error ? sentence : "");
	fflush(stdout);
}

static int check(const float *x, const float *y)
{
	uint64_t i, n = options.size;

	if (!options.matmul) {
		for (i = 0; i < n; i++)
			if (y[i] != 2 * x[i])
				return 2;
		return 0;
	}
	/* x is a multiple of the identity, and so is its square. */
	for (i = 0; i < n * n; i++)
		if (fabsf(y[i] - (i % (n + 1) ? 0 : x[0] * x[0])) > 1e-3f)
			return 2;
	return 0;
}

static void fill(float *x, int run)
{
	uint64_t i, n = options.size;

	for (i = 0; !options.matmul && i < n; i++)
		x[i] = i % 1000 + run;
	for (i = 0; options.matmul && i < n * n; i++)
		x[i] = i % (n + 1) ? 0 : run + 2;
}

static int run(int fd, uint32_t model, const struct ai_alloc *memory, uint64_t bytes, int number)
{
	float *x = (float *)(uintptr_t)memory->address, *y = x + bytes / sizeof(*x);
	struct ai_tensor in = { .la = memory->la, .bytes = bytes, .dtype = DTYPE };
	struct ai_tensor out = { .la = memory->la, .offset = bytes, .bytes = bytes };
	struct ai_infer call = {
		.hdr = header(sizeof(call)),
		.inputs = (uintptr_t)&in,
		.outputs = (uintptr_t)&out,
		.nr_inputs = 1,
		.nr_outputs = 1,
		.model = model,
	};
	long long begin = now_ns();
	int error;

	in.rank = options.matmul ? 2 : 1;
	in.dims[0] = options.size;
	in.dims[1] = options.matmul ? options.size : 0;
	fill(x, number);
	memset(y, 0xff, bytes);
	if (options.timeout_ms)
		call.timeout_ns = begin + options.timeout_ms * 1000000LL;
	error = ioctl(fd, AI_INFER, &call) ? errno : 0;
	report("infer", error, (now_ns() - begin) / 1000000, &call.record);
	if (error)
		return 1;
	if (check(x, y)) {
		printf("result=WRONG step=check\n");
		return 2;
	}
	return 0;
}

static int fail(const char *step, long long begin)
{
	report(step, errno, (now_ns() - begin) / 1000000, NULL);
	return -1;
}

/* ---- memory that is somebody's already ---- */

static int new_memfd(uint64_t bytes)
{
	int memfd = memfd_create("npu-job", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	return ftruncate(memfd, bytes) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK) ? -1 : memfd;
}

static int new_udmabuf(uint64_t bytes)
{
	struct udmabuf_create create = { .memfd = new_memfd(bytes), .size = bytes };

	return ioctl(open("/dev/udmabuf", O_RDWR | O_CLOEXEC), UDMABUF_CREATE, &create);
}

static int new_heap(uint64_t bytes)
{
	struct dma_heap_allocation_data data = { .len = bytes, .fd_flags = O_RDWR | O_CLOEXEC };

	return ioctl(open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC), DMA_HEAP_IOCTL_ALLOC,
		     &data) ? -1 : (int)data.fd;
}

static int import(int fd, struct ai_alloc *memory, uint64_t bytes)
{
	struct ai_import arg = { .hdr = header(sizeof(arg)), .perm = 3, .bytes = bytes };
	void *address;

	if (!strcmp(options.from, "user")) {
		address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		arg.kind = AI_IMPORT_USER;
		arg.address = (uintptr_t)address;
		if (ioctl(fd, AI_IMPORT, &arg))
			return -1;
	} else {
		arg.fd = !strcmp(options.from, "udmabuf") ? new_udmabuf(bytes) :
			 !strcmp(options.from, "heap")	  ? new_heap(bytes) :
							    new_memfd(bytes);
		if (arg.fd < 0 || ioctl(fd, AI_IMPORT, &arg))
			return -1;
		close(arg.fd);
		address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, arg.mmap_offset);
	}
	memory->address = (uintptr_t)address;
	memory->bytes = bytes;
	memory->la = arg.la;
	return address == MAP_FAILED ? -1 : 0;
}

/* The file with a model and memory, or -1: the failure has been reported. */
static int prepare(struct ai_model_load *load, struct ai_alloc *memory, uint64_t bytes)
{
	long long begin = now_ns();
	struct bytes model = {};
	int fd = open("/dev/ai0", O_RDWR | O_CLOEXEC);

	*load = (struct ai_model_load){ .hdr = header(sizeof(*load)), .format = AI_FORMAT_ONNX };
	*memory = (struct ai_alloc){ .hdr = header(sizeof(*memory)) };
	if (fd < 0)
		return fail("open", begin);
	make_model(&model);
	load->data = (uintptr_t)model.data;
	load->bytes = model.size;
	load->device = options.device;
	strcpy(load->name, options.matmul ? "matmul" : "add");
	if (ioctl(fd, AI_MODEL_LOAD, load))
		return fail("load", begin);
	/* A dma-buf has whole pages, and not the same number for all exporters. */
	if (options.from && import(fd, memory, (2 * bytes + 0xffff) & ~0xffffULL))
		return fail("import", begin);
	if (options.from)
		return fd;
	memory->hdr.flags = AI_ALLOC_MAP;
	memory->bytes = 2 * bytes;
	memory->device = options.home;
	memory->perm = AI_PERM_READ | AI_PERM_WRITE;
	if (ioctl(fd, AI_ALLOC, memory))
		return fail("alloc", begin);
	return fd;
}

/*
 * Many files that each have run a job. They are closed at the same moment, when
 * the last of them was refused.
 */
static int crowd(uint64_t bytes)
{
	struct ai_model_load load;
	struct ai_alloc memory;
	int i, last = 0, first = -1, ret = 0;

	for (i = 0; i < options.crowd && !ret; i++) {
		last = prepare(&load, &memory, bytes);
		if (last < 0)
			return 1;
		first = first < 0 ? last : first;
		ret = run(last, load.model, &memory, bytes, i);
		munmap((void *)(uintptr_t)memory.address, memory.bytes);
	}
	close_range(first, last, 0);
	if (ret)
		return 0;
	printf("result=WRONG step=crowd sentence=%d open files were served, none was refused\n", i);
	return 2;
}

/* Give the file to another process, which runs the first model on its device now. */
static pid_t run_beside(int fd, uint32_t model, const struct ai_alloc *memory, uint64_t bytes)
{
	pid_t pid = fork();

	if (!pid)
		_exit(run(fd, model, memory, bytes, 0));
	/* Time to get stuck. */
	usleep(500000);
	return pid;
}

/* The same model on another device, in the same file. */
static int load_beside(int fd, struct ai_model_load *load)
{
	load->hdr = header(sizeof(*load));
	load->device = options.beside;
	load->version = 0;
	return ioctl(fd, AI_MODEL_LOAD, load);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "memory-of", required_argument, NULL, 'h' },
		{ "size", required_argument, NULL, 'n' },
		{ "timeout", required_argument, NULL, 't' },
		{ "repeat", required_argument, NULL, 'r' },
		{ "pause", required_argument, NULL, 'p' },
		{ "beside", required_argument, NULL, 'b' },
		{ "crowd", required_argument, NULL, 'c' },
		{ "from", required_argument, NULL, 'f' },
		{ "matmul", no_argument, &options.matmul, 1 },
		{ "wait", no_argument, &options.wait_line, 1 },
		{}
	};
	struct ai_model_load load;
	struct ai_alloc memory;
	int fd, i, c, status, ret = 0;
	uint32_t first;
	uint64_t bytes;
	pid_t pid = 0;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 0: break;
		case 'd': options.device = strtoul(optarg, NULL, 0); break;
		case 'h': options.home = strtoul(optarg, NULL, 0); break;
		case 'n': options.size = strtoull(optarg, NULL, 0); break;
		case 't': options.timeout_ms = atol(optarg); break;
		case 'r': options.repeat = atoi(optarg); break;
		case 'p': options.pause_ms = atoi(optarg); break;
		case 'b': options.beside = strtoul(optarg, NULL, 0); break;
		case 'c': options.crowd = atoi(optarg); break;
		case 'f': options.from = optarg; break;
		default: return 3;
		}
	}
	bytes = options.size * (options.matmul ? options.size : 1) * sizeof(float);

	if (options.crowd) {
		ret = crowd(bytes);
		if (ret)
			return ret;
	}
	fd = prepare(&load, &memory, bytes);
	if (fd < 0)
		return 1;
	first = load.model;
	if (options.beside && load_beside(fd, &load))
		return -fail("load", now_ns());
	if (options.wait_line) {
		char line[8];

		report("ready", 0, 0, NULL);
		if (!fgets(line, sizeof(line), stdin))
			return 3;
	}
	if (options.beside)
		pid = run_beside(fd, first, &memory, bytes);
	for (i = 0; i < options.repeat; i++) {
		ret = run(fd, load.model, &memory, bytes, i) ?: ret;
		usleep(options.pause_ms * 1000);
	}
	if (pid > 0 && (waitpid(pid, &status, 0) < 0 || status))
		return 2;
	return ret;
}
