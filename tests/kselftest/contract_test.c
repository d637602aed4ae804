// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "contract_test.h"

struct ai_contract_create created;

int contract_ask(int fd, const char *name, const struct ai_memory_term *memory,
		 unsigned int count, struct ai_terms terms, int64_t wait_until_ns)
{
	AI_ARG(ai_contract_create, arg, .memory = (uintptr_t)memory, .nr_memory = count,
	       .terms = terms, .wait_until_ns = wait_until_ns);
	int ret;

	snprintf(arg.name, sizeof(arg.name), "%s", name);
	ret = ai_call(fd, AI_CONTRACT_CREATE, &arg);
	created = arg;
	return ret;
}

int contract_memory(int fd, uint32_t device, uint64_t bytes)
{
	struct ai_memory_term memory = { .device = device, .bytes = bytes };
	int ret = contract_ask(fd, "memory", &memory, 1, (struct ai_terms){}, 0);

	return ret ?: created.fd;
}

int contract_service(int fd, struct ai_terms terms)
{
	int ret = contract_ask(fd, "service", NULL, 0, terms, 0);

	EXPECT(!ret, "%s: %s", strerror(-ret), ai_sentence);
	EXPECT(created.answer == AI_ANSWER_GRANTED, "answer %u", created.answer);
	return ret ?: created.fd;
}

struct ai_contract_info contract_info(int contract)
{
	AI_ARG(ai_contract_info, info);

	EXPECT(!ai_call(contract, AI_CONTRACT_QUERY, &info), "%s", ai_sentence);
	return info;
}

int contract_alloc(int fd, int contract, uint32_t device, uint64_t bytes, uint64_t *la)
{
	AI_ARG(ai_alloc, arg, .bytes = bytes, .device = device,
	       .perm = AI_PERM_READ | AI_PERM_WRITE, .contract = contract);
	int ret;

	arg.hdr.flags = AI_ALLOC_CONTRACT;
	ret = ai_call(fd, AI_ALLOC, &arg);
	*la = arg.la;
	return ret;
}

int plain_alloc(int fd, uint32_t device, uint64_t bytes)
{
	AI_ARG(ai_alloc, arg, .bytes = bytes, .device = device, .perm = AI_PERM_READ);

	return ai_call(fd, AI_ALLOC, &arg);
}

int contract_events(int contract, struct ai_event *events, int room)
{
	struct pollfd pfd = { .fd = contract, .events = POLLIN };
	ssize_t got = 0;

	if (poll(&pfd, 1, 0) > 0)
		got = read(contract, events, room * sizeof(*events));
	EXPECT(got >= 0 && got % sizeof(*events) == 0, "read: %zd", got);
	return got / (ssize_t)sizeof(*events);
}

bool contract_event(int contract, uint32_t kind, struct ai_event *event)
{
	struct ai_event events[64];
	int i, count = contract_events(contract, events, 64);

	for (i = 0; i < count; i++) {
		if (events[i].kind == kind) {
			*event = events[i];
			return true;
		}
	}
	return false;
}

struct ai_terms good_terms(void)
{
	return (struct ai_terms){ .device = SIM_MEDIUM, .latency_ns = 20 * MS,
				  .period_ns = 50 * MS, .service_ns = MS };
}

void use_contract(struct fixture *fix, int contract)
{
	fix->call.hdr.flags = AI_INFER_CONTRACT;
	fix->call.contract = contract;
}
