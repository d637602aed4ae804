// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address spaces: the view one open file has of the memory of one device.
 *
 * The open file, every job and every map hold a reference. Regions are mapped
 * when a job first names them and unmapped when they go. When the device goes
 * the driver undoes everything at once and the address space stays behind,
 * detached, until its last user drops it.
 */
#include <linux/slab.h>

#include "ai_internal.h"

/* Count address spaces, and those of them that may go without anybody's doing. */
static void ai_device_count_as(struct ai_device *adev, int all, int unsettled)
{
	unsigned long flags;

	spin_lock_irqsave(&adev->lock, flags);
	adev->nr_as += all;
	adev->nr_as_unsettled += unsettled;
	spin_unlock_irqrestore(&adev->lock, flags);
	wake_up_all(&adev->ready);
}

static void ai_as_release_work(struct work_struct *work)
{
	struct ai_as *as = container_of(work, struct ai_as, release_work);
	struct ai_device *adev = as->adev;

	/* Unplugging waits for this lock before it lets the driver go. */
	mutex_lock(&as->lock);
	if (!as->detached)
		adev->ops->as_destroy(adev, as);
	as->detached = true;
	mutex_unlock(&as->lock);

	mutex_lock(&adev->objects_lock);
	list_del(&as->node);
	mutex_unlock(&adev->objects_lock);
	ai_device_count_as(adev, -1, -1);

	mutex_destroy(&as->lock);
	kfree(as);
	ai_device_put(adev);
}

static void ai_as_release(struct kref *ref)
{
	struct ai_as *as = container_of(ref, struct ai_as, ref);

	queue_work(ai_wq, &as->release_work);
}

/* Any context. */
void ai_as_put(struct ai_as *as)
{
	if (as)
		kref_put(&as->ref, ai_as_release);
}

/* The file lets go of it; jobs and regions may have it a moment longer. */
static void ai_as_close(struct ai_as *as)
{
	ai_device_count_as(as->adev, 0, 1);
	ai_as_put(as);
}

/* Why an operation cannot begin now, or 0. */
static int ai_device_refuses(struct ai_device *adev)
{
	switch (READ_ONCE(adev->health)) {
	case AI_HEALTH_RECOVERING:
		return -EAGAIN;
	case AI_HEALTH_FAILED:
		return -ENODEV;
	default:
		return 0;
	}
}

/* Take a slot for one that is about to be made. */
static bool ai_device_reserve_as(struct ai_device *adev)
{
	unsigned long flags;
	bool room;

	spin_lock_irqsave(&adev->lock, flags);
	room = !adev->max_as || adev->nr_as < adev->max_as;
	adev->nr_as += room;
	adev->nr_as_unsettled += room;
	spin_unlock_irqrestore(&adev->lock, flags);
	return room;
}

static int ai_as_attach(struct ai_as *as)
{
	struct ai_device *adev = as->adev;
	int ret, idx;

	if (!ai_device_enter(adev, &idx))
		return -ENODEV;
	ret = ai_device_refuses(adev);
	if (!ret && !ai_device_reserve_as(adev))
		ret = -EUSERS;
	if (ret)
		goto exit;

	ret = adev->ops->as_create(adev, as);
	if (!ret) {
		mutex_lock(&adev->objects_lock);
		list_add(&as->node, &adev->as_list);
		mutex_unlock(&adev->objects_lock);
	}
	ai_device_count_as(adev, ret ? -1 : 0, -1);
exit:
	ai_device_exit(adev, idx);
	return ret;
}

static struct ai_as *ai_as_create(struct ai_file *file, struct ai_device *adev)
{
	struct ai_as *as = kzalloc(sizeof(*as), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!as)
		return ERR_PTR(-ENOMEM);

	as->adev = ai_device_get(adev);
	as->file_id = file->id;
	kref_init(&as->ref);
	mutex_init(&as->lock);
	INIT_LIST_HEAD(&as->maps);
	INIT_WORK(&as->release_work, ai_as_release_work);

	ret = ai_as_attach(as);
	if (!ret)
		return as;
	ai_device_put(adev);
	mutex_destroy(&as->lock);
	kfree(as);
	return ERR_PTR(ret);
}

/* False for one that has gone, too: it takes no job. */
static bool ai_device_has_as(struct ai_device *adev)
{
	bool has;
	int idx;

	if (!ai_device_enter(adev, &idx))
		return false;
	has = adev->ops->as_create;
	ai_device_exit(adev, idx);
	return has;
}

/* What the file has under a device's number, with a reference, or NULL. */
static struct ai_as *ai_file_as_have(struct ai_file *file, u32 device)
{
	struct ai_as *as;

	xa_lock(&file->as);
	as = xa_load(&file->as, device);
	if (as)
		kref_get(&as->ref);
	xa_unlock(&file->as);
	return as;
}

/*
 * One attempt: -EAGAIN if the device recovers, or another thread did the same.
 * No lock is held meanwhile, since making one may take as long as a reset and the
 * file's other threads may be busy with other devices.
 */
static struct ai_as *ai_file_as_try(struct ai_file *file, struct ai_device *adev)
{
	struct ai_as *as = ai_file_as_have(file, adev->id);
	struct ai_as *stale, *found;

	/* The number may have gone to another device meanwhile. */
	if (as && as->adev == adev)
		return as;
	stale = as;
	as = ai_as_create(file, adev);
	if (IS_ERR(as))
		goto put_stale;

	kref_get(&as->ref);
	found = xa_cmpxchg(&file->as, adev->id, stale, as, GFP_KERNEL_ACCOUNT);
	if (found == stale) {
		if (stale)
			ai_as_close(stale);
		goto put_stale;
	}
	ai_as_put(as);
	ai_as_close(as);
	as = ERR_PTR(xa_err(found) ?: -EAGAIN);
put_stale:
	ai_as_put(stale);
	return as;
}

/*
 * All are taken: -EUSERS, or -EAGAIN when there is one again because a file was
 * closed or another could not be made.
 */
static int ai_device_as_state(struct ai_device *adev)
{
	unsigned long flags;
	int ret = -EUSERS;

	spin_lock_irqsave(&adev->lock, flags);
	if (adev->unplugged || adev->nr_as < adev->max_as)
		ret = -EAGAIN;
	else if (adev->nr_as_unsettled)
		ret = 0;
	spin_unlock_irqrestore(&adev->lock, flags);
	return ret;
}

static int ai_device_wait_as(struct ai_device *adev, ktime_t until)
{
	int state = ai_device_as_state(adev);
	long left;

	if (state)
		return state;
	do {
		left = wait_event_killable_timeout(adev->ready,
						   (state = ai_device_as_state(adev)),
						   ai_jiffies_until(until));
	} while (!left && ai_time_left(until));
	if (left < 0)
		return -EINTR;
	return left ? state : -ETIME;
}

/**
 * ai_file_as() - the address space of the caller's file on a device
 * @call: the call
 * @adev: the device
 * @until: how long to wait for a device that recovers, 0: as long as it takes
 *
 * Return: the address space with a reference, NULL for a device that has none or
 * has gone, or an error pointer.
 */
struct ai_as *ai_file_as(struct ai_call *call, struct ai_device *adev, ktime_t until)
{
	struct ai_as *as;
	int ret;

	if (!ai_device_has_as(adev))
		return NULL;

	do {
		ret = ai_device_wait_ready(adev, until);
		if (ret)
			break;
		as = ai_file_as_try(call->file, adev);
		if (!IS_ERR(as))
			return as;
		ret = PTR_ERR(as);
		if (ret == -EUSERS)
			ret = ai_device_wait_as(adev, until);
	} while (ret == -EAGAIN);

	if (ret == -EUSERS)
		return ERR_PTR(ai_fail(call, -ENOSPC,
				       "%s serves %u open files already, the most it can",
				       dev_name(&adev->dev), adev->max_as));
	return ERR_PTR(ai_device_fail(call, adev, ret, "has not made an address space"));
}

static int ai_as_map_new(struct ai_as *as, struct ai_region *region)
{
	struct ai_device *adev = as->adev;
	struct ai_region_map *map;
	int ret, idx;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return -ENOMEM;
	map->region = region;
	map->as = as;
	map->va = ai_region_va(region);

	/* In this order, so that unplugging does not wait for those who wait for the lock. */
	mutex_lock(&as->lock);
	ret = -ENODEV;
	if (ai_device_enter(adev, &idx)) {
		if (!as->detached)
			ret = ai_device_refuses(adev);
		if (!ret)
			ret = adev->ops->as_map(adev, map);
		if (!ret) {
			list_add(&map->as_node, &as->maps);
			list_add(&map->region_node, &region->maps);
			kref_get(&as->ref);
		}
		ai_device_exit(adev, idx);
	}
	mutex_unlock(&as->lock);
	if (ret)
		kfree(map);
	return ret;
}

/**
 * ai_as_map() - make a region reachable in an address space
 * @call: the call, for the sentence
 * @as: the address space
 * @region: the region; stays mapped until it goes
 * @until: how long to wait for a device that recovers, 0: as long as it takes
 *
 * Return: 0 or a negative error number.
 */
int ai_as_map(struct ai_call *call, struct ai_as *as, struct ai_region *region, ktime_t until)
{
	struct ai_region_map *map;
	char what[48];
	int ret;

	/* Memory of another device would need a path between the two. */
	if (region->home && region->home != as->adev)
		return ai_fail(call, -EOPNOTSUPP,
			       "la 0x%llx is memory of %s, which %s cannot reach",
			       region->la, dev_name(&region->home->dev),
			       dev_name(&as->adev->dev));
	do {
		ret = 0;
		mutex_lock(&region->map_lock);
		list_for_each_entry(map, &region->maps, region_node)
			if (map->as == as)
				goto unlock;
		ret = ai_as_map_new(as, region);
unlock:
		mutex_unlock(&region->map_lock);
		if (ret == -EAGAIN) {
			ret = ai_device_wait_ready(as->adev, until);
			if (!ret)
				ret = -EAGAIN;
		}
	} while (ret == -EAGAIN);

	if (!ret)
		return 0;
	scnprintf(what, sizeof(what), "has not mapped la 0x%llx", region->la);
	return ai_device_fail(call, as->adev, ret, what);
}

/* The region is about to go: nobody adds a map any more. May wait for devices. */
void ai_region_unmap_all(struct ai_region *region)
{
	struct ai_region_map *map, *next;

	list_for_each_entry_safe(map, next, &region->maps, region_node) {
		struct ai_as *as = map->as;

		mutex_lock(&as->lock);
		if (!as->detached)
			as->adev->ops->as_unmap(as->adev, map);
		list_del(&map->as_node);
		mutex_unlock(&as->lock);
		list_del(&map->region_node);
		kfree(map);
		ai_as_put(as);
	}
}

/* The device goes and has no jobs: the driver undoes what it did. */
void ai_device_detach_as(struct ai_device *adev)
{
	struct ai_region_map *map;
	struct ai_as *as;

	mutex_lock(&adev->objects_lock);
	list_for_each_entry(as, &adev->as_list, node) {
		mutex_lock(&as->lock);
		if (!as->detached) {
			list_for_each_entry(map, &as->maps, as_node)
				adev->ops->as_unmap(adev, map);
			adev->ops->as_destroy(adev, as);
			as->detached = true;
		}
		mutex_unlock(&as->lock);
	}
	mutex_unlock(&adev->objects_lock);
}

void ai_file_release_as(struct ai_file *file)
{
	struct ai_as *as;
	unsigned long id;

	xa_for_each(&file->as, id, as)
		ai_as_close(as);
	xa_destroy(&file->as);
}
