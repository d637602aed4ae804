// SPDX-License-Identifier: GPL-2.0-only
/*
 * null_ioctl: one null inference by ioctl, beside an ioctl that does nothing and
 * beside the hop alone to a daemon in user space, there and back over a unix
 * socket, which every service outside the kernel pays.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

static void bare(void *arg)
{
	/* A number nobody knows: into the driver and out again. */
	ioctl(*(int *)arg, _IO(AI_IOC_MAGIC, 0xff), 0);
}

static void hop(void *arg)
{
	char text[64] = "";
	int socket = *(int *)arg;

	bench_check(write(socket, text, 64) == 64 && read(socket, text, 64) == 64, "socket");
}

static void daemon_run(int socket)
{
	char text[64];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(socket, text, 64) == 64)
		if (write(socket, text, 64) != 64)
			break;
	_exit(0);
}

int main(void)
{
	struct bench_call call;
	int sockets[2];

	bench_call_init(&call, 4096);
	bench_print("null_ioctl", "ours", "ns", bench_measure(bench_call_run, &call, 2000));
	bench_print("null_ioctl", "bare ioctl", "ns", bench_measure(bare, &call.fd, 5000));

	bench_check(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
	if (!fork()) {
		close(sockets[0]);
		daemon_run(sockets[1]);
	}
	close(sockets[1]);
	bench_print("null_ioctl", "hop to a daemon", "ns", bench_measure(hop, &sockets[0], 1000));
	close(sockets[0]);
	wait(NULL);
	return 0;
}
