/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by ai_dump.c, ai_dump_sections.c, ai_dump_jobs.c and ai_decision.c. */
#ifndef AI_DUMP_INTERNAL_H
#define AI_DUMP_INTERNAL_H

#include <linux/uidgid.h>

#include "ai_internal.h"

/* Jobs of which the tensors are shown. */
#define AI_DUMP_DETAILED_JOBS 16

/**
 * struct ai_dumper - a dump being made
 * @adev: the device
 * @gfp: how to allocate
 * @full: who asked may see everything
 * @file: else: number of the file that asked
 * @uid: else: user that asked
 * @job: of interest, or 0
 * @entered: the driver's operations may be called
 * @data: the dump so far
 * @used: its size
 * @capacity: room in @data
 * @section: where the section under way begins
 * @limit: most elements of that section
 * @error: why the dump cannot be made, or 0
 * @unreadable: the device did not answer
 * @sections: how many there are
 * @withheld: see &struct ai_dump_header
 * @absent: likewise
 * @details: jobs whose tensors are shown, with references
 * @nr_details: elements of @details
 * @pte: what the entries being written are for
 * @pte_left: entries that may still be written for it
 */
struct ai_dumper {
	struct ai_device *adev;
	gfp_t gfp;
	bool full;
	u64 file;
	kuid_t uid;
	u64 job;
	bool entered;

	u8 *data;
	size_t used;
	size_t capacity;
	size_t section;
	u64 limit;
	int error;
	bool unreadable;
	u32 sections;
	u64 withheld;
	u64 absent;

	struct ai_job *details[AI_DUMP_DETAILED_JOBS];
	u32 nr_details;
	struct ai_dump_pte pte;
	u32 pte_left;
};

/* ai_dump.c */
void ai_dump_begin(struct ai_dumper *dumper, enum ai_dump_type type, u32 element_bytes);
bool ai_dump_add(struct ai_dumper *dumper, const void *element);
void ai_dump_omit(struct ai_dumper *dumper, u64 count);
void ai_dump_end(struct ai_dumper *dumper);
bool ai_dumper_sees(const struct ai_dumper *dumper, kuid_t uid, u64 file);

/* ai_dump_sections.c */
void ai_dump_sections(struct ai_dumper *dumper);

/* ai_dump_jobs.c */
void ai_dump_queue(struct ai_dumper *dumper);
void ai_dump_tensors(struct ai_dumper *dumper);
void ai_dump_ptes(struct ai_dumper *dumper);

/* ai_decision.c */
void ai_dump_decisions(struct ai_dumper *dumper);

#endif /* AI_DUMP_INTERNAL_H */
