// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a process or of a memfd, pinned and charged to who asked.
 *
 * They are charged to the user, as io_uring does, and not to the process: the last
 * user of a region may be another one, or none, or be under mmap_lock.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hugetlb.h>
#include <linux/memfd.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>

#include "ai_memory.h"

#define AI_PIN_BATCH 256

static int ai_pin_charge(struct ai_call *call, struct ai_region *region)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct ai_source *source = region->source;
	struct user_struct *user = current_user();
	long pages = region->nr_pages;
	long locked;

	/* It is charged in any case: who has the capability today may not tomorrow. */
	locked = atomic_long_read(&user->locked_vm);
	do {
		if (capable(CAP_IPC_LOCK))
			continue;
		if (locked > limit || pages > limit - locked)
			return ai_fail(call, -ENOMEM,
				       "%lu bytes are to be pinned and %lu are already, RLIMIT_MEMLOCK is %lu",
				       pages << PAGE_SHIFT, locked << PAGE_SHIFT,
				       limit << PAGE_SHIFT);
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &locked, locked + pages));
	source->user = get_uid(user);
	source->charged = pages;
	return 0;
}

static void ai_pin_uncharge(struct ai_source *source)
{
	if (!source->user)
		return;
	atomic_long_sub(source->charged, &source->user->locked_vm);
	free_uid(source->user);
}

/* Pages that follow each other are one piece. */
static int ai_pin_append(struct ai_region *region, u32 *capacity, unsigned long pfn, u64 start,
			 u32 nr)
{
	struct ai_chunk *last = region->nr_chunks ? &region->chunks[region->nr_chunks - 1] : NULL;

	if (last && last->pfn + last->nr == pfn) {
		last->nr += nr;
		return 0;
	}
	return ai_region_add_chunk(region, capacity, pfn, start, nr);
}

/* ---- memory of a process ---- */

static int ai_pin_user_batch(struct ai_region *region, u64 address, struct page **pages,
			     u32 *capacity, u64 *done)
{
	int wanted = min_t(u64, region->nr_pages - *done, AI_PIN_BATCH);
	int i, nr, ret;

	nr = pin_user_pages_fast(address + (*done << PAGE_SHIFT), wanted,
				 FOLL_WRITE | FOLL_LONGTERM, pages);
	if (nr <= 0)
		return nr ?: -EFAULT;
	for (i = 0; i < nr; i++) {
		ret = ai_pin_append(region, capacity, page_to_pfn(pages[i]), *done, 1);
		if (ret) {
			unpin_user_pages(pages + i, nr - i);
			return ret;
		}
		++*done;
	}
	return 0;
}

static int ai_pin_user_fail(struct ai_call *call, int error, u64 address)
{
	switch (error) {
	case -EFAULT:
	case -EOPNOTSUPP:
		return ai_fail(call, -EFAULT,
			       "address 0x%llx is no memory that the caller may write and that can be pinned: it is not mapped, not writable, of a device or of a file",
			       address);
	case -EINTR:
		return ai_fail(call, error, "a fatal signal ended the import");
	default:
		return ai_fail(call, error, "the pages at address 0x%llx could not be pinned",
			       address);
	}
}

/**
 * ai_pin_user() - make a region of memory of the caller
 * @call: the call
 * @region: with its number of pages and its source
 * @address: where they are, the beginning of a page
 *
 * What was pinned belongs to the region even if it fails.
 *
 * Return: 0 or a negative error number.
 */
int ai_pin_user(struct ai_call *call, struct ai_region *region, u64 address)
{
	struct page **pages;
	u32 capacity = 1;
	u64 done = 0;
	int ret;

	ret = ai_pin_charge(call, region);
	if (ret)
		return ret;
	pages = kmalloc_array(AI_PIN_BATCH, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return ai_fail(call, -ENOMEM, "the system has no memory for an import");
	while (!ret && done < region->nr_pages) {
		ret = ai_pin_user_batch(region, address, pages, &capacity, &done);
		if (fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	}
	kfree(pages);
	return ret ? ai_pin_user_fail(call, ret, address + (done << PAGE_SHIFT)) : 0;
}

/* ---- memfd ---- */

bool ai_file_is_memfd(struct file *file)
{
	return shmem_file(file) || is_file_hugepages(file);
}

static unsigned int ai_memfd_seals(struct file *file)
{
	if (shmem_file(file))
		return SHMEM_I(file_inode(file))->seals;
#ifdef CONFIG_HUGETLBFS
	return HUGETLBFS_I(file_inode(file))->seals;
#else
	return 0;
#endif
}

static int ai_pin_memfd_batch(struct ai_region *region, struct file *file, u64 offset,
			      struct folio **folios, u32 *capacity, u64 *done)
{
	u64 end = offset + (region->nr_pages << PAGE_SHIFT) - 1;
	pgoff_t skip = 0;
	long i, nr;
	int ret;

	nr = memfd_pin_folios(file, offset + (*done << PAGE_SHIFT), end, folios, AI_PIN_BATCH,
			      &skip);
	if (nr <= 0)
		return nr ?: -EFAULT;
	for (i = 0; i < nr; i++) {
		u64 pages = min_t(u64, folio_nr_pages(folios[i]) - (skip >> PAGE_SHIFT),
				  region->nr_pages - *done);

		ret = ai_pin_append(region, capacity, folio_pfn(folios[i]) + (skip >> PAGE_SHIFT),
				    *done, pages);
		if (ret) {
			unpin_folios(folios + i, nr - i);
			return ret;
		}
		*done += pages;
		skip = 0;
	}
	return 0;
}

static int ai_pin_memfd_check(struct ai_call *call, struct ai_region *region, struct file *file,
			      u64 offset)
{
	u64 size = i_size_read(file_inode(file));
	unsigned int seals = ai_memfd_seals(file);

	if (!(seals & F_SEAL_SHRINK))
		return ai_fail(call, -EINVAL,
			       "fd is a memfd without F_SEAL_SHRINK, which could be cut off beneath; seal it with fcntl(F_ADD_SEALS)");
	if (offset >= size || region->nr_pages > (size - offset) >> PAGE_SHIFT)
		return ai_fail(call, -EINVAL,
			       "offset is %llu and bytes %llu, the memfd has %llu bytes", offset,
			       region->nr_pages << PAGE_SHIFT, size);
	region->source->read_only = !(file->f_mode & FMODE_WRITE) ||
				    seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE);
	if (region->source->read_only && region->perm & AI_PERM_WRITE)
		return ai_fail(call, -EACCES,
			       "perm is 0x%x, but fd is a memfd that is %s: only AI_PERM_READ is possible",
			       region->perm, file->f_mode & FMODE_WRITE ?
			       "sealed against writing" : "open for reading");
	return 0;
}

/**
 * ai_pin_memfd() - make a region of a memfd
 * @call: the call
 * @region: with its number of pages and its source
 * @file: the memfd
 * @offset: where in it, the beginning of a page
 *
 * What was pinned belongs to the region even if it fails.
 *
 * Return: 0 or a negative error number.
 */
int ai_pin_memfd(struct ai_call *call, struct ai_region *region, struct file *file, u64 offset)
{
	struct folio **folios;
	u32 capacity = 1;
	u64 done = 0;
	int ret;

	ret = ai_pin_charge(call, region);
	if (ret)
		return ret;
	folios = kmalloc_array(AI_PIN_BATCH, sizeof(*folios), GFP_KERNEL);
	if (!folios)
		return ai_fail(call, -ENOMEM, "the system has no memory for an import");
	/* Under it nobody adds a seal: against writing there is none while it is pinned. */
	inode_lock_shared(file_inode(file));
	ret = ai_pin_memfd_check(call, region, file, offset);
	if (ret)
		goto unlock;
	while (!ret && done < region->nr_pages) {
		ret = ai_pin_memfd_batch(region, file, offset, folios, &capacity, &done);
		if (fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	}
	if (ret)
		ai_fail(call, ret, "the pages of the memfd from offset %llu on could not be pinned",
			offset + (done << PAGE_SHIFT));
unlock:
	inode_unlock_shared(file_inode(file));
	kfree(folios);
	return ret;
}

/* Each folio was pinned once. What was written through mappings is told nobody else. */
static void ai_unpin_folios(const struct ai_chunk *chunk, bool dirty)
{
	unsigned long pfn = chunk->pfn;

	while (pfn < chunk->pfn + chunk->nr) {
		struct folio *folio = pfn_folio(pfn);

		pfn = folio_pfn(folio) + folio_nr_pages(folio);
		if (dirty)
			set_page_dirty_lock(&folio->page);
		unpin_folio(folio);
	}
}

/* Let go of what ai_pin_user() or ai_pin_memfd() pinned. */
void ai_unpin(struct ai_region *region)
{
	u32 i;

	for (i = 0; i < region->nr_chunks; i++) {
		const struct ai_chunk *chunk = &region->chunks[i];

		if (region->source->origin == AI_ORIGIN_USER)
			unpin_user_page_range_dirty_lock(pfn_to_page(chunk->pfn), chunk->nr, true);
		else
			ai_unpin_folios(chunk, !region->source->read_only);
		cond_resched();
	}
	ai_pin_uncharge(region->source);
}
