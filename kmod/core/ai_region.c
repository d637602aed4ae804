// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions: the pages behind a range of logical addresses, in system memory or in
 * the memory of a device, and the handles open files have on them.
 *
 * A region goes when its last user goes. What a device may still reach is
 * unmapped first; since that can mean waiting for the device it is then done by
 * a worker, so that the last reference may be dropped under mmap_lock.
 */
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/io.h>
#include <linux/mman.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ai_memory.h"
#include "ai_trace.h"

#define AI_MAX_ORDER HPAGE_PMD_ORDER

void ai_region_free_pages(struct ai_region *region)
{
	u32 i;

	for (i = 0; i < region->nr_chunks; i++)
		__free_pages(pfn_to_page(region->chunks[i].pfn), ilog2(region->chunks[i].nr));
}

static void ai_region_free_blocks(struct ai_region *region)
{
	struct ai_device *home = region->home;

	mutex_lock(&home->mem_lock);
	gpu_buddy_free_list(&home->buddy, &region->blocks, 0);
	mutex_unlock(&home->mem_lock);
	ai_contract_budget_freed();
}

static void ai_region_free(struct ai_region *region)
{
	if (region->source)
		ai_source_release(region);
	else if (region->reserve)
		ai_reserve_give_back(region);
	else if (ai_region_is_system(region))
		ai_region_free_pages(region);
	else
		ai_region_free_blocks(region);
	if (region->home)
		ai_device_put(region->home);
	if (region->chunks != &region->one)
		kvfree(region->chunks);
	if (region->dummy)
		__free_page(region->dummy);
	if (region->resv) {
		dma_resv_fini(region->resv);
		kfree(region->resv);
	}
	mutex_destroy(&region->map_lock);
	kfree_rcu(region, rcu);
}

static void ai_region_destroy(struct ai_region *region)
{
	trace_ai_free(region);
	ai_region_unmap_all(region);
	ai_gpt_remove(region);
	ai_region_free(region);
}

static void ai_region_release_work(struct work_struct *work)
{
	ai_region_destroy(container_of(work, struct ai_region, release_work));
}

static void ai_region_release(struct kref *ref)
{
	struct ai_region *region = container_of(ref, struct ai_region, ref);

	/* Without references nobody adds a map any more. */
	if (list_empty(&region->maps)) {
		ai_region_destroy(region);
		return;
	}
	INIT_WORK(&region->release_work, ai_region_release_work);
	queue_work(ai_wq, &region->release_work);
}

/**
 * ai_region_put() - drop a reference
 * @region: the region; may be NULL
 *
 * May sleep, but waits for no device.
 */
void ai_region_put(struct ai_region *region)
{
	if (region)
		kref_put(&region->ref, ai_region_release);
}

int ai_region_add_chunk(struct ai_region *region, u32 *capacity, unsigned long pfn, u32 start,
			u32 nr)
{
	if (region->nr_chunks == *capacity) {
		u32 more = max(*capacity * 2, 16U);
		struct ai_chunk *chunks;

		chunks = kvmalloc_array(more, sizeof(*chunks),
					GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		if (!chunks)
			return -ENOMEM;
		memcpy(chunks, region->chunks, region->nr_chunks * sizeof(*chunks));
		if (region->chunks != &region->one)
			kvfree(region->chunks);
		region->chunks = chunks;
		*capacity = more;
	}
	region->chunks[region->nr_chunks].pfn = pfn;
	region->chunks[region->nr_chunks].start = start;
	region->chunks[region->nr_chunks++].nr = nr;
	return 0;
}

/* Pieces as large as can be had without effort: up to 2 MiB, down to a page. */
int ai_region_alloc_pages(struct ai_region *region)
{
	unsigned int order, limit = AI_MAX_ORDER;
	u32 capacity = 1;
	u64 done = 0;

	while (done < region->nr_pages) {
		/* The pages belong to no process: killing one would free nothing. */
		gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;
		struct page *page;

		if (fatal_signal_pending(current))
			return -EINTR;

		order = min_t(unsigned int, ilog2(region->nr_pages - done), limit);
		gfp |= order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;
		page = alloc_pages(gfp, order);
		if (!page && order) {
			limit = order - 1;
			continue;
		}
		if (!page)
			return -ENOMEM;
		if (ai_region_add_chunk(region, &capacity, page_to_pfn(page), done, 1U << order)) {
			__free_pages(page, order);
			return -ENOMEM;
		}
		done += 1ULL << order;
	}
	return 0;
}

static int ai_region_clear_io(struct ai_device *home, phys_addr_t phys, u64 bytes)
{
	/* As applications see it: see ai_alloc_cache(). */
	unsigned long cache = pfn_valid(PHYS_PFN(phys)) ? MEMREMAP_WB : MEMREMAP_WC;
	u64 done, step;

	for (done = 0; done < bytes; done += step) {
		void *address;
		int idx;

		step = min_t(u64, bytes - done, SZ_4M);
		address = memremap(phys + done, step, cache);
		if (!address)
			return -ENOMEM;
		/* Once a step, so that unplugging waits for no more than that. */
		if (!ai_device_enter(home, &idx)) {
			memunmap(address);
			return -ENODEV;
		}
		memset(address, 0, step);
		ai_device_exit(home, idx);
		memunmap(address);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int ai_region_alloc_blocks(struct ai_region *region)
{
	struct ai_device *home = region->home;
	u64 bytes = region->nr_pages << PAGE_SHIFT;
	struct gpu_buddy_block *block;
	u32 capacity = 1;
	u64 done = 0;
	int ret;

	if (region->reserve) {
		ret = ai_reserve_take(region);
	} else {
		ret = -ENOSPC;
		mutex_lock(&home->mem_lock);
		if (bytes <= home->buddy.avail - home->mem_promised)
			ret = gpu_buddy_alloc_blocks(&home->buddy, 0, home->mem_bytes, bytes,
						     PAGE_SIZE, &region->blocks, 0);
		mutex_unlock(&home->mem_lock);
		/* It says EINVAL as well when rounding up makes it more than there is. */
		if (ret && ret != -ENOMEM)
			ret = -ENOSPC;
	}
	if (ret)
		return ret;

	list_for_each_entry(block, &region->blocks, link) {
		u64 offset = gpu_buddy_block_offset(block);
		u64 size = min(gpu_buddy_block_size(&home->buddy, block), bytes - done);

		ret = ai_region_add_chunk(region, &capacity,
					  (home->mem_phys + offset) >> PAGE_SHIFT,
					  done >> PAGE_SHIFT, size >> PAGE_SHIFT);
		if (ret)
			return ret;
		done += size;
	}
	return 0;
}

static int ai_region_clear_blocks(struct ai_region *region)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < region->nr_chunks && !ret; i++)
		ret = ai_region_clear_io(region->home,
					 (phys_addr_t)region->chunks[i].pfn << PAGE_SHIFT,
					 (u64)region->chunks[i].nr << PAGE_SHIFT);
	return ret;
}

/* A device that is being reset may not take what is written: then it is done again. */
static int ai_region_get_blocks(struct ai_region *region)
{
	struct ai_device *home = region->home;
	bool undisturbed = false;
	u32 generation;
	int ret;

	ret = ai_region_alloc_blocks(region);
	while (!ret && !undisturbed) {
		ret = ai_device_wait_ready(home, 0);
		if (ret)
			break;
		generation = ai_device_generation(home);
		undisturbed = ai_device_undisturbed(home, generation);
		if (undisturbed)
			ret = ai_region_clear_blocks(region);
		undisturbed = undisturbed && ai_device_undisturbed(home, generation);
	}
	return ret;
}

static int ai_region_fail(struct ai_call *call, const struct ai_region *region, int error)
{
	u64 bytes = region->nr_pages << PAGE_SHIFT;

	switch (error) {
	case -ENOSPC:
		return ai_fail(call, error,
			       "bytes is %llu, %s has %llu bytes of memory that are neither allocated nor reserved",
			       bytes, dev_name(&region->home->dev),
			       ai_device_mem_free(region->home));
	case -EDQUOT:
		return ai_fail(call, error,
			       "bytes is %llu, of the %llu bytes of the contract %llu are allocated",
			       bytes, region->reserve->bytes, ai_reserve_used(region->reserve));
	case -ESTALE:
		return ai_fail(call, error,
			       "the contract was closed, or lapsed, before %llu bytes were taken from it",
			       bytes);
	case -ENODEV:
		return ai_fail(call, error, "%s failed or was removed, it gives no memory",
			       dev_name(&region->home->dev));
	case -EINTR:
		return ai_fail(call, error, "a fatal signal ended the allocation of %llu bytes",
			       bytes);
	default:
		return ai_fail(call, error, "the system has no memory for %llu bytes", bytes);
	}
}

struct ai_region *ai_region_new(struct ai_device *home, u64 bytes, u32 perm, u32 cache, u64 owner)
{
	struct ai_region *region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);

	if (!region)
		return NULL;
	kref_init(&region->ref);
	region->nr_pages = DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
	region->home = home ? ai_device_get(home) : NULL;
	region->perm = perm;
	region->cache = cache;
	region->owner = owner;
	mutex_init(&region->map_lock);
	INIT_LIST_HEAD(&region->maps);
	INIT_LIST_HEAD(&region->blocks);
	region->chunks = &region->one;
	return region;
}

static int ai_region_take_pages(struct ai_region *region)
{
	if (region->home)
		return ai_region_get_blocks(region);
	if (region->reserve)
		return ai_reserve_take(region);
	if (region->nr_pages > si_mem_available())
		return -ENOMEM;
	return ai_region_alloc_pages(region);
}

static int ai_region_take_addresses(struct ai_region *region)
{
	if (region->reserve)
		return ai_gpt_window_insert(region);
	return ai_gpt_insert(region, region->home ? region->home->id : AI_DEVICE_SYSTEM);
}

/**
 * ai_region_publish() - give a region that has its pages a logical address
 * @call: for the error sentence
 * @region: the region, taken over
 * @error: 0, or why it has not got its pages
 *
 * Return: the region with one reference, or an error pointer.
 */
struct ai_region *ai_region_publish(struct ai_call *call, struct ai_region *region, int error)
{
	if (!error) {
		error = ai_region_take_addresses(region);
		if (error)
			ai_fail(call, error, "no range of %llu logical pages is free",
				region->nr_pages);
	}
	if (error) {
		ai_region_free(region);
		return ERR_PTR(error);
	}
	trace_ai_alloc(region);
	return region;
}

/* Takes over the region, which may be NULL. */
static struct ai_region *ai_region_complete(struct ai_call *call, struct ai_region *region)
{
	int ret;

	if (!region)
		return ERR_PTR(ai_fail(call, -ENOMEM, "the system has no memory for a region"));
	ret = ai_region_take_pages(region);
	if (ret)
		ai_region_fail(call, region, ret);
	return ai_region_publish(call, region, ret);
}

/**
 * ai_region_create() - allocate pages and give them a logical address
 * @call: for the error sentence
 * @home: device that shall hold them; NULL: system memory
 * @bytes: size, at least 1
 * @perm: AI_PERM_*
 * @cache: how the CPU sees them, not %AI_CACHE_DEFAULT
 * @owner: &ai_file.id of the owner, 0 for the kernel itself
 *
 * Return: the region with one reference and its pages zeroed, or an error
 * pointer.
 */
struct ai_region *ai_region_create(struct ai_call *call, struct ai_device *home, u64 bytes,
				   u32 perm, u32 cache, u64 owner)
{
	return ai_region_complete(call, ai_region_new(home, bytes, perm, cache, owner));
}

/**
 * ai_region_create_reserved() - the same, of what a contract was promised
 * @call: the call, whose file becomes the owner
 * @reserve: the reservation
 * @bytes: size, at least 1
 * @perm: AI_PERM_*
 * @cache: how the CPU sees them, not %AI_CACHE_DEFAULT
 *
 * Return: the region with one reference and its pages zeroed, or an error
 * pointer; -EDQUOT when it is more than is left of the reservation, -ESTALE when
 * that was let go meanwhile.
 */
struct ai_region *ai_region_create_reserved(struct ai_call *call, struct ai_reserve *reserve,
					    u64 bytes, u32 perm, u32 cache)
{
	struct ai_region *region = ai_region_new(reserve->home, bytes, perm, cache, call->file->id);

	if (region) {
		kref_get(&reserve->ref);
		region->reserve = reserve;
	}
	return ai_region_complete(call, region);
}

/* Fill a region of the kernel's own; @bytes is not above its size. */
int ai_region_copy_from_user(struct ai_region *region, u64 user, u64 bytes)
{
	u64 done = 0;
	u32 i;

	for (i = 0; i < region->nr_chunks && done < bytes; i++) {
		const struct ai_chunk *chunk = &region->chunks[i];
		u64 part = min_t(u64, bytes - done, (u64)chunk->nr << PAGE_SHIFT);

		if (fatal_signal_pending(current))
			return -EINTR;
		if (copy_from_user(page_address(pfn_to_page(chunk->pfn)),
				   u64_to_user_ptr(user + done), part))
			return -EFAULT;
		done += part;
		cond_resched();
	}
	return 0;
}

/* The chunk that holds a page of the region; @page is inside it. */
const struct ai_chunk *ai_region_chunk(const struct ai_region *region, u64 page)
{
	u32 low = 0, high = region->nr_chunks - 1;

	while (low < high) {
		u32 middle = (low + high + 1) / 2;

		if (region->chunks[middle].start <= page)
			low = middle;
		else
			high = middle - 1;
	}
	return &region->chunks[low];
}

static int ai_lookup_fail(struct ai_call *call, int error, const char *what, u32 index, u64 la,
			  const char *why)
{
	if (what)
		return ai_fail(call, error, "la of %s %u is 0x%llx, %s", what, index, la, why);
	return ai_fail(call, error, "la is 0x%llx, %s", la, why);
}

/**
 * ai_region_lookup() - the region behind a logical address of the caller
 * @call: the call
 * @la: any page of the region
 * @what: for the sentence: kind of tensor the address belongs to, or NULL
 * @index: and which
 *
 * Return: the region with a reference, or an error pointer.
 */
struct ai_region *ai_region_lookup(struct ai_call *call, u64 la, const char *what, u32 index)
{
	struct ai_region *region = ai_gpt_lookup(la);

	if (!region)
		return ERR_PTR(ai_lookup_fail(call, -ENOENT, what, index, la,
					      "no memory is allocated at that address"));
	/* The pages may live on in a mapping or a job; the handle decides. */
	if (xa_load(&call->file->regions, region->la) != region) {
		bool freed = region->owner == call->file->id;

		ai_region_put(region);
		return ERR_PTR(ai_lookup_fail(call, freed ? -ENOENT : -EACCES, what, index, la,
					      freed ? "which has been freed" :
						      "an address of another open file"));
	}
	return region;
}

/* ---- handles ---- */

/**
 * ai_file_add_handle() - make a region known to an open file
 * @file: the open file
 * @region: the region, whose reference is taken over if it succeeds
 *
 * What the file has already, because it was exported and imported again, is counted:
 * each handle is to be ended.
 *
 * Return: 0 or -ENOMEM.
 */
int ai_file_add_handle(struct ai_file *file, struct ai_region *region)
{
	u64 la = region->la;
	void *more;
	int ret;

	mutex_lock(&file->handles_lock);
	if (xa_load(&file->regions, la) == region) {
		more = xa_load(&file->more_handles, la);
		ret = xa_err(xa_store(&file->more_handles, la,
				      xa_mk_value((more ? xa_to_value(more) : 0) + 1),
				      GFP_KERNEL_ACCOUNT));
		if (!ret)
			ai_region_put(region);
	} else {
		ret = xa_err(xa_store(&file->regions, la, region, GFP_KERNEL_ACCOUNT));
	}
	mutex_unlock(&file->handles_lock);
	return ret;
}

/**
 * ai_file_close_handle() - end a handle
 * @file: the open file
 * @la: address of the region's first page
 *
 * Return: whether there was one.
 */
bool ai_file_close_handle(struct ai_file *file, u64 la)
{
	struct ai_region *region = NULL;
	unsigned long count;
	bool known = true;
	void *more;

	mutex_lock(&file->handles_lock);
	more = xa_load(&file->more_handles, la);
	if (more) {
		count = xa_to_value(more) - 1;
		/* Smaller than what is there: it needs no memory. */
		if (count)
			xa_store(&file->more_handles, la, xa_mk_value(count), GFP_KERNEL);
		else
			xa_erase(&file->more_handles, la);
	} else {
		region = xa_erase(&file->regions, la);
		known = region;
	}
	mutex_unlock(&file->handles_lock);
	ai_region_put(region);
	return known;
}

static int ai_alloc_check(struct ai_call *call, const struct ai_alloc *arg)
{
	if (!arg->bytes)
		return ai_fail(call, -EINVAL, "bytes is 0, at least 1 is needed");
	if (arg->bytes > AI_GPT_MAX_PAGES << PAGE_SHIFT)
		return ai_fail(call, -EFBIG, "bytes is %llu, at most %llu can be allocated at once",
			       arg->bytes, AI_GPT_MAX_PAGES << PAGE_SHIFT);
	if (!arg->perm || arg->perm & ~(AI_PERM_READ | AI_PERM_WRITE))
		return ai_fail(call, -EINVAL,
			       "perm is 0x%x, it takes AI_PERM_READ, AI_PERM_WRITE or both",
			       arg->perm);
	if (arg->cache > AI_CACHE_WRITECOMBINE)
		return ai_fail(call, -EINVAL, "cache is %u, the highest value is %u",
			       arg->cache, AI_CACHE_WRITECOMBINE);
	if (arg->reserved)
		return ai_fail(call, -EINVAL, "reserved is 0x%x, it must be 0", arg->reserved);
	if (arg->reserved2)
		return ai_fail(call, -EINVAL, "reserved2 is 0x%x, it must be 0", arg->reserved2);
	if (arg->contract && !(arg->hdr.flags & AI_ALLOC_CONTRACT))
		return ai_fail(call, -EINVAL,
			       "contract is %d, without AI_ALLOC_CONTRACT it must be 0",
			       arg->contract);
	return 0;
}

/*
 * How the CPU may see memory follows from what it is: two views with different
 * caching of one page are not allowed on every CPU.
 */
static int ai_alloc_cache(struct ai_call *call, const struct ai_device *home, u32 wanted)
{
	bool ram = !home || pfn_valid(PHYS_PFN(home->mem_phys));
	u32 has = ram ? AI_CACHE_CACHED : AI_CACHE_WRITECOMBINE;

	if (wanted != AI_CACHE_DEFAULT && wanted != has)
		return ai_fail(call, -EOPNOTSUPP, "cache is %u, memory of %s can only be %s (%u)",
			       wanted, home ? dev_name(&home->dev) : "the system",
			       ram ? "cached" : "write-combined", has);
	return has;
}

static struct ai_device *ai_alloc_home(struct ai_call *call, u32 device)
{
	struct ai_device *home;

	if (device == AI_DEVICE_SYSTEM)
		return NULL;

	home = ai_device_lookup(device);
	if (!home)
		return ERR_PTR(ai_fail(call, -ENOENT, "device is %u, no such device is registered",
				       device));
	if (!home->mem_bytes) {
		ai_fail(call, -EOPNOTSUPP, "device is %u, %s has no memory of its own", device,
			dev_name(&home->dev));
		ai_device_put(home);
		return ERR_PTR(-EOPNOTSUPP);
	}
	return home;
}

static struct ai_region *ai_alloc_region(struct ai_call *call, const struct ai_alloc *arg,
					 struct ai_device *home, u32 cache)
{
	struct ai_contract *contract;
	struct ai_region *region;

	if (!(arg->hdr.flags & AI_ALLOC_CONTRACT))
		return ai_region_create(call, home, arg->bytes, arg->perm, cache, call->file->id);
	contract = ai_contract_get_fd(call, arg->contract);
	if (IS_ERR(contract))
		return ERR_CAST(contract);
	region = ai_contract_alloc(call, contract, home, arg->bytes, arg->perm, cache);
	ai_contract_put(contract);
	return region;
}

int ai_ioctl_alloc(struct ai_call *call, struct ai_alloc *arg)
{
	struct ai_region *region;
	struct ai_device *home;
	int ret;

	ret = ai_alloc_check(call, arg);
	if (ret)
		return ret;
	home = ai_alloc_home(call, arg->device);
	if (IS_ERR(home))
		return PTR_ERR(home);
	ret = ai_alloc_cache(call, home, arg->cache);
	if (ret < 0)
		goto put_home;

	region = ai_alloc_region(call, arg, home, ret);
	if (IS_ERR(region)) {
		ret = PTR_ERR(region);
		goto put_home;
	}

	arg->bytes = region->nr_pages << PAGE_SHIFT;
	arg->cache = region->cache;
	arg->la = region->la;
	arg->mmap_offset = ai_la_to_va(region->la);
	arg->address = 0;
	ret = ai_file_add_handle(call->file, region);
	if (ret) {
		ai_fail(call, ret, "the system has no memory for a handle");
		ai_region_put(region);
		goto put_home;
	}
	/* From here on another thread may free it: the region is not touched any more. */
	if (arg->hdr.flags & AI_ALLOC_MAP) {
		unsigned long address;

		address = vm_mmap(call->filp, 0, arg->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				  arg->mmap_offset);
		if (IS_ERR_VALUE(address)) {
			ret = ai_fail(call, (int)address, "%llu bytes could not be mapped",
				      arg->bytes);
			ai_file_close_handle(call->file, arg->la);
			goto put_home;
		}
		arg->address = address;
	}

put_home:
	if (home)
		ai_device_put(home);
	return ret;
}

/* The caller never learned of what it was given. */
void ai_undo_alloc(struct ai_call *call, struct ai_alloc *arg)
{
	if (arg->address)
		vm_munmap(arg->address, arg->bytes);
	ai_file_close_handle(call->file, arg->la);
}

int ai_ioctl_free(struct ai_call *call, struct ai_free *arg)
{
	struct ai_region *region;
	bool unmap = arg->hdr.flags & AI_FREE_UNMAP;
	u64 bytes;
	int ret;

	if (!unmap && arg->address)
		return ai_fail(call, -EINVAL,
			       "address is 0x%llx, without AI_FREE_UNMAP it must be 0",
			       arg->address);
	if (unmap && (!arg->address || arg->address & ~PAGE_MASK))
		return ai_fail(call, -EINVAL, "address is 0x%llx, a multiple of %lu is needed",
			       arg->address, PAGE_SIZE);

	region = ai_region_lookup(call, arg->la, NULL, 0);
	if (IS_ERR(region))
		return PTR_ERR(region);
	if (region->la != arg->la) {
		ret = ai_fail(call, -EINVAL, "la is 0x%llx, inside the range that begins at 0x%llx",
			      arg->la, region->la);
		goto put;
	}
	bytes = region->nr_pages << PAGE_SHIFT;
	if (unmap && !ai_mmap_covers(region, arg->address)) {
		ret = ai_fail(call, -EINVAL,
			      "address is 0x%llx, la 0x%llx is not mapped whole there",
			      arg->address, arg->la);
		goto put;
	}

	/* Not another one that has the address by now: this one is still held. */
	if (!ai_file_close_handle(call->file, arg->la)) {
		ret = ai_fail(call, -ENOENT, "la is 0x%llx, which has been freed", arg->la);
		goto put;
	}
	ret = 0;
	if (unmap) {
		ret = vm_munmap(arg->address, bytes);
		if (ret)
			ai_fail(call, ret,
				"la 0x%llx is freed, but address 0x%llx could not be unmapped",
				arg->la, arg->address);
	}
put:
	ai_region_put(region);
	return ret;
}

int ai_ioctl_region_info(struct ai_call *call, struct ai_region_info *arg)
{
	struct ai_region *region = ai_region_lookup(call, arg->la, NULL, 0);
	u32 i;

	if (IS_ERR(region))
		return PTR_ERR(region);

	arg->la = region->la;
	arg->bytes = region->nr_pages << PAGE_SHIFT;
	arg->mmap_offset = ai_la_to_va(region->la);
	arg->device = AI_LA_DEVICE(region->la);
	arg->perm = region->perm;
	arg->cache = region->cache;
	/* Without the reference this call holds itself. */
	arg->refs = kref_read(&region->ref) - 1;
	arg->mappings = atomic_read(&region->mappings);
	arg->origin = ai_region_origin(region);
	arg->reserved = 0;
	arg->largest_folio = 0;
	for (i = 0; i < region->nr_chunks; i++)
		arg->largest_folio = max_t(u64, arg->largest_folio,
					   min_t(u64, (u64)region->chunks[i].nr << PAGE_SHIFT,
						 U32_MAX));
	ai_region_put(region);
	return 0;
}

void ai_file_release_regions(struct ai_file *file)
{
	struct ai_region *region;
	unsigned long la;

	xa_for_each(&file->regions, la, region)
		ai_region_put(region);
	xa_destroy(&file->regions);
	xa_destroy(&file->more_handles);
}

/* ---- for drivers ---- */

u64 ai_region_va(const struct ai_region *region)
{
	return ai_la_to_va(region->la);
}
EXPORT_SYMBOL_GPL(ai_region_va);

u64 ai_va_to_la(u64 va)
{
	return ((va >> (AI_GPT_PAGE_BITS + 12)) << AI_LA_PAGE_BITS) |
	       ((va >> 12) & (AI_GPT_MAX_PAGES - 1));
}
EXPORT_SYMBOL_GPL(ai_va_to_la);

u64 ai_region_bytes(const struct ai_region *region)
{
	return region->nr_pages << PAGE_SHIFT;
}
EXPORT_SYMBOL_GPL(ai_region_bytes);

u32 ai_region_perm(const struct ai_region *region)
{
	return region->perm;
}
EXPORT_SYMBOL_GPL(ai_region_perm);

struct ai_device *ai_region_home(const struct ai_region *region)
{
	return region->home;
}
EXPORT_SYMBOL_GPL(ai_region_home);

int ai_region_visit_blocks(struct ai_region *region, ai_block_fn fn, void *arg)
{
	int ret = 0;
	u32 i;

	if (ai_region_is_system(region))
		return -EINVAL;
	for (i = 0; i < region->nr_chunks && !ret; i++) {
		const struct ai_chunk *chunk = &region->chunks[i];

		ret = fn(((u64)chunk->pfn << PAGE_SHIFT) - region->home->mem_phys,
			 (u64)chunk->nr << PAGE_SHIFT, arg);
	}
	return ret;
}
EXPORT_SYMBOL_GPL(ai_region_visit_blocks);
