// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapping regions into applications.
 *
 * Small pieces are entered when the mapping is made, so that none of their pages
 * faults. Pieces of 2 MiB are entered whole by the first touch. The mapping has
 * no struct page reference (VM_PFNMAP): its reference to the region keeps the
 * pages.
 *
 * When a device goes, mappings of its memory are revoked; touching them again
 * finds zeroes of no consequence, not a signal.
 */
#include <linux/mm.h>
#include <linux/pfn_t.h>

#include "ai_memory.h"
#include "ai_trace.h"

static void ai_vma_open(struct vm_area_struct *vma)
{
	struct ai_region *region = vma->vm_private_data;

	kref_get(&region->ref);
	atomic_inc(&region->mappings);
}

static void ai_vma_close(struct vm_area_struct *vma)
{
	struct ai_region *region = vma->vm_private_data;

	atomic_dec(&region->mappings);
	ai_region_put(region);
}

static u64 ai_vma_page(const struct vm_area_struct *vma, const struct ai_region *region,
		       unsigned long address)
{
	u64 first = vma->vm_pgoff - (ai_la_to_va(region->la) >> PAGE_SHIFT);

	return first + ((address - vma->vm_start) >> PAGE_SHIFT);
}

/*
 * Let those who entered the device's pages before it went finish, one of which may
 * be about to enter 2 MiB here. Not under mmap_lock, as they may be as long as
 * the driver has operations under way.
 */
static vm_fault_t ai_vma_wait_quiesced(struct vm_fault *vmf, struct ai_region *region)
{
	struct ai_device *home = region->home;

	if (!fault_flag_allow_retry_first(vmf->flags))
		return VM_FAULT_NOPAGE;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	kref_get(&region->ref);
	release_fault_lock(vmf);
	/* A fatal signal is noticed by who retries. */
	wait_event_killable(home->ready, READ_ONCE(home->quiesced));
	ai_region_put(region);
	return VM_FAULT_RETRY;
}

/* A page stands in for memory of a device that has gone; it goes with the region. */
static vm_fault_t ai_vma_fault_gone(struct vm_fault *vmf, struct ai_region *region)
{
	struct page *page;

	/* Pairs with the release in ai_device_unplug(): what is looked at below is later. */
	if (!smp_load_acquire(&region->home->quiesced))
		return ai_vma_wait_quiesced(vmf, region);
	/* 2 MiB that were entered are about to be revoked, until then there is nothing to do. */
	if (pmd_trans_huge(pmdp_get_lockless(vmf->pmd)))
		return VM_FAULT_NOPAGE;

	page = READ_ONCE(region->dummy);
	if (!page) {
		struct page *mine = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);

		if (!mine)
			return VM_FAULT_OOM;
		page = cmpxchg(&region->dummy, NULL, mine);
		if (page)
			__free_page(mine);
		else
			page = mine;
	}
	return vmf_insert_pfn_prot(vmf->vma, vmf->address, page_to_pfn(page),
				   vm_get_page_prot(vmf->vma->vm_flags));
}

/* One fault enters all that one page table can hold of the piece. */
static vm_fault_t ai_vma_insert_around(struct vm_fault *vmf, struct ai_region *region)
{
	struct vm_area_struct *vma = vmf->vma;
	u64 page = ai_vma_page(vma, region, vmf->address);
	const struct ai_chunk *chunk = ai_region_chunk(region, page);
	unsigned long low = max(vmf->address & PMD_MASK, vma->vm_start);
	unsigned long high = min((vmf->address & PMD_MASK) + PMD_SIZE, vma->vm_end);
	unsigned long address;
	vm_fault_t ret;

	ret = vmf_insert_pfn_prot(vma, vmf->address, chunk->pfn + page - chunk->start,
				  vma->vm_page_prot);
	for (address = low; address < high && ret == VM_FAULT_NOPAGE; address += PAGE_SIZE) {
		page = ai_vma_page(vma, region, address);
		if (page < chunk->start || page >= (u64)chunk->start + chunk->nr)
			continue;
		ret = vmf_insert_pfn_prot(vma, address, chunk->pfn + page - chunk->start,
					  vma->vm_page_prot);
	}
	return ret;
}

static vm_fault_t ai_vma_fault(struct vm_fault *vmf)
{
	struct ai_region *region = vmf->vma->vm_private_data;
	vm_fault_t ret;
	int idx;

	/* Unplugging waits for those who entered before it revokes the mappings. */
	if (region->home && !ai_device_enter(region->home, &idx))
		return ai_vma_fault_gone(vmf, region);
	ret = ai_vma_insert_around(vmf, region);
	if (region->home)
		ai_device_exit(region->home, idx);
	return ret;
}

/* The frame that maps the 2 MiB at an address in one piece, or 0. */
static unsigned long ai_vma_huge_pfn(const struct vm_area_struct *vma,
				     const struct ai_region *region, unsigned long start)
{
	const struct ai_chunk *chunk;
	unsigned long pfn;
	u64 page;

	if (!IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) || start < vma->vm_start ||
	    start + PMD_SIZE > vma->vm_end)
		return 0;
	page = ai_vma_page(vma, region, start);
	chunk = ai_region_chunk(region, page);
	pfn = chunk->pfn + page - chunk->start;
	if (!IS_ALIGNED(pfn, HPAGE_PMD_NR) ||
	    page + HPAGE_PMD_NR > (u64)chunk->start + chunk->nr)
		return 0;
	return pfn;
}

static vm_fault_t ai_vma_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	struct ai_region *region = vmf->vma->vm_private_data;
	unsigned long pfn;
	vm_fault_t ret;
	int idx;

	if (order != HPAGE_PMD_ORDER)
		return VM_FAULT_FALLBACK;
	pfn = ai_vma_huge_pfn(vmf->vma, region, vmf->address & PMD_MASK);
	if (!pfn)
		return VM_FAULT_FALLBACK;
	if (region->home && !ai_device_enter(region->home, &idx))
		return VM_FAULT_FALLBACK;
	ret = vmf_insert_pfn_pmd(vmf, pfn_to_pfn_t(pfn), vmf->flags & FAULT_FLAG_WRITE);
	if (region->home)
		ai_device_exit(region->home, idx);
	return ret;
}

static const struct vm_operations_struct ai_vm_ops = {
	.open = ai_vma_open,
	.close = ai_vma_close,
	.fault = ai_vma_fault,
	.huge_fault = ai_vma_huge_fault,
};

/*
 * Enter the small pieces now. Only for system memory, which is never revoked: a
 * mapping under construction cannot be found for that yet.
 */
static int ai_vma_populate(struct vm_area_struct *vma, const struct ai_region *region)
{
	unsigned long address = vma->vm_start;

	while (address < vma->vm_end) {
		u64 page = ai_vma_page(vma, region, address);
		const struct ai_chunk *chunk = ai_region_chunk(region, page);
		unsigned long inside = page - chunk->start;
		unsigned long bytes = min_t(unsigned long, vma->vm_end - address,
					    (chunk->nr - inside) << PAGE_SHIFT);
		int ret;

		if (chunk->nr < HPAGE_PMD_NR || !ai_vma_huge_pfn(vma, region, address)) {
			ret = remap_pfn_range(vma, address, chunk->pfn + inside, bytes,
					      vma->vm_page_prot);
			if (ret)
				return ret;
		}
		address += bytes;
	}
	return 0;
}

/**
 * ai_mmap_region() - map a part of a region
 * @region: the region; the mapping gets a reference of its own
 * @vma: the mapping, whose offset is the device address of its first page
 *
 * Return: 0 or a negative error number.
 */
int ai_mmap_region(struct ai_region *region, struct vm_area_struct *vma)
{
	u64 first = vma->vm_pgoff - (ai_la_to_va(region->la) >> PAGE_SHIFT);
	u64 pages = vma_pages(vma);
	int ret;

	/* A private copy of a tensor would never reach the device. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (first >= region->nr_pages || pages > region->nr_pages - first)
		return -EINVAL;
	if (ai_region_read_only(region)) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	/* Its exporter knows how; the mapping holds the dma-buf from here on. */
	if (ai_region_origin(region) == AI_ORIGIN_DMABUF)
		return dma_buf_mmap(region->source->dmabuf, vma, region->source->first + first);

	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	if (region->cache == AI_CACHE_WRITECOMBINE)
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	vma->vm_private_data = region;
	if (ai_region_is_system(region)) {
		ret = ai_vma_populate(vma, region);
		if (ret) {
			/* Another thread of the caller may see what was entered so far. */
			zap_vma_ptes(vma, vma->vm_start, vma->vm_end - vma->vm_start);
			return ret;
		}
	}
	kref_get(&region->ref);
	atomic_inc(&region->mappings);
	vma->vm_ops = &ai_vm_ops;
	trace_ai_map(region, vma->vm_start, pages << PAGE_SHIFT);
	return 0;
}

int ai_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct ai_call call = { .file = filp->private_data, .filp = filp };
	struct ai_region *region;
	int ret;

	if (vma->vm_pgoff >> (AI_GPT_PAGE_BITS + 8))
		return -EINVAL;
	region = ai_region_lookup(&call, ai_va_to_la((u64)vma->vm_pgoff << PAGE_SHIFT), NULL, 0);
	if (IS_ERR(region))
		return PTR_ERR(region);
	ret = ai_mmap_region(region, vma);
	ai_region_put(region);
	return ret;
}

/* Whether all of the region is mapped at that address of the caller, in order. */
bool ai_mmap_covers(const struct ai_region *region, unsigned long address)
{
	u64 bytes = region->nr_pages << PAGE_SHIFT;
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool covers;

	mmap_read_lock(mm);
	vma = vma_lookup(mm, address);
	covers = vma && vma->vm_ops == &ai_vm_ops && vma->vm_private_data == region &&
		 !ai_vma_page(vma, region, address) && vma->vm_end - address >= bytes;
	mmap_read_unlock(mm);
	return covers;
}

/**
 * ai_mmap_revoke_device() - take away all mappings of a device's memory
 * @adev: unplugged, and nobody is inside ai_device_enter() any more
 */
void ai_mmap_revoke_device(struct ai_device *adev)
{
	loff_t start = ai_la_to_va((u64)adev->id << AI_LA_PAGE_BITS);

	unmap_mapping_range(ai_inode->i_mapping, start, AI_GPT_MAX_PAGES << PAGE_SHIFT, 1);
}
