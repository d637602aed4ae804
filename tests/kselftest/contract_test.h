/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of contracts share. */
#ifndef CONTRACT_TEST_H
#define CONTRACT_TEST_H

#include "ai_test.h"

#define MiB (1UL << 20)

extern struct ai_contract_create created; /* the last answer */

/* 0 or -errno; the descriptor in created.fd. */
int contract_ask(int fd, const char *name, const struct ai_memory_term *memory,
		 unsigned int count, struct ai_terms terms, int64_t wait_until_ns);
/* The descriptor or -errno. */
int contract_memory(int fd, uint32_t device, uint64_t bytes);
int contract_service(int fd, struct ai_terms terms);
struct ai_contract_info contract_info(int contract);
/* 0 or -errno. */
int contract_alloc(int fd, int contract, uint32_t device, uint64_t bytes, uint64_t *la);
int plain_alloc(int fd, uint32_t device, uint64_t bytes);
/* Events there are now: how many. */
int contract_events(int contract, struct ai_event *events, int room);
/* Whether one of that kind is among them; all are read. */
bool contract_event(int contract, uint32_t kind, struct ai_event *event);
/* 1 ms each 50 ms, within 20 ms, on SIM_MEDIUM. */
struct ai_terms good_terms(void);
/* The call is one of the contract from now on. */
void use_contract(struct fixture *fix, int contract);

/* Of a thread that races others for some seconds. */
struct racer {
	int fd, contract;
	uint32_t model;
	int seconds;
};

#endif /* CONTRACT_TEST_H */
