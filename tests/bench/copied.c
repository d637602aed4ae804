// SPDX-License-Identifier: GPL-2.0-only
/*
 * graph_cpu_bytes: bytes of tensor data that the CPU copies for one inference on
 * memory that the application has mapped, as the kernel counts them. The model
 * touches no data itself: what is counted is the way there and back.
 */
#define _GNU_SOURCE
#include "bench.h"

int main(void)
{
	struct bench_call call;
	uint64_t most = 0;
	int i;

	bench_call_init(&call, 3 * 640 * 640 * 4);
	for (i = 0; i < 100; i++) {
		bench_call_run(&call);
		if (call.infer.record.bytes_cpu > most)
			most = call.infer.record.bytes_cpu;
	}
	bench_print("graph_cpu_bytes", "ours", "bytes", most);
	return 0;
}
