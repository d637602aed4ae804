// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is in a dump of the device, of its contracts and of its driver.
 */
#include <linux/slab.h>

#include "ai_contract.h"
#include "ai_dump.h"

/* Contracts looked at for those that the caller may see. */
#define AI_DUMP_MAX_CONTRACTS 64

/* ---- the device ---- */

static void ai_dump_device(struct ai_dumper *dumper)
{
	struct ai_device *adev = dumper->adev;
	struct ai_dump_device device = {
		.device = adev->id,
		.properties = adev->properties,
		.queue_depth = adev->queue_depth,
		.max_address_spaces = adev->max_as,
		.mem_total = adev->mem_bytes,
		.mem_free = ai_device_mem_free(adev),
		.bandwidth = adev->bandwidth,
		.reserved_bandwidth = READ_ONCE(adev->bandwidth_promised),
	};

	strscpy(device.name, dev_name(&adev->dev));
	strscpy(device.product, adev->product);
	strscpy(device.bus, adev->bus);
	spin_lock_irq(&adev->lock);
	device.health = adev->health;
	device.generation = adev->generation;
	device.queued = adev->nr_queued;
	device.inflight = adev->nr_inflight;
	device.claims = adev->nr_claims;
	device.address_spaces = adev->nr_as;
	device.jobs_done = adev->jobs_done;
	device.jobs_failed = adev->jobs_failed;
	device.busy_ns = ai_device_busy_ns(adev);
	strscpy(device.firmware, adev->firmware);
	strscpy(device.engine, adev->engine);
	spin_unlock_irq(&adev->lock);

	ai_dump_begin(dumper, AI_DUMP_DEVICE, sizeof(device));
	ai_dump_add(dumper, &device);
	ai_dump_end(dumper);
}

static void ai_dump_sensors(struct ai_dumper *dumper)
{
	struct ai_device *adev = dumper->adev;
	struct ai_dump_sensors element = {
		.temp_throttle_mc = adev->temp_throttle_mc,
		.power_limit_mw = adev->power_limit_mw,
		.clock_max_mhz = adev->clock_max_mhz,
	};
	struct ai_sensors sensors;

	ai_device_read_sensors(adev, &sensors);
	element.temp_mc = sensors.temp_mc;
	element.power_mw = sensors.power_mw;
	element.clock_mhz = sensors.clock_mhz;
	element.throttled = sensors.throttled;
	element.throttles = READ_ONCE(adev->watch.throttles);

	ai_dump_begin(dumper, AI_DUMP_SENSORS, sizeof(element));
	/* Nor does one that is being reset or has failed. */
	if (!dumper->entered || dumper->unreadable ||
	    READ_ONCE(adev->health) > AI_HEALTH_THROTTLED)
		ai_dump_unreadable(dumper);
	ai_dump_add(dumper, &element);
	ai_dump_end(dumper);
}

/* ---- the driver ---- */

typedef void (*ai_dump_fn)(struct ai_device *adev, struct ai_dumper *dumper);

/* A section that the driver writes. */
static void ai_dump_by_driver(struct ai_dumper *dumper, enum ai_dump_type type, u32 element_bytes,
			      ai_dump_fn fn)
{
	if (!fn) {
		dumper->absent |= BIT_ULL(type);
		return;
	}
	ai_dump_begin(dumper, type, element_bytes);
	fn(dumper->adev, dumper);
	ai_dump_end(dumper);
}

static void ai_dump_driver(struct ai_dumper *dumper)
{
	const struct ai_device_ops *ops = dumper->adev->ops;

	if (!dumper->full) {
		dumper->withheld |= BIT_ULL(AI_DUMP_REGISTERS) | BIT_ULL(AI_DUMP_DRIVER) |
				    BIT_ULL(AI_DUMP_FIRMWARE_LOG);
		return;
	}
	if (!dumper->entered) {
		dumper->absent |= BIT_ULL(AI_DUMP_REGISTERS) | BIT_ULL(AI_DUMP_DRIVER) |
				  BIT_ULL(AI_DUMP_FIRMWARE_LOG);
		return;
	}
	ai_dump_by_driver(dumper, AI_DUMP_REGISTERS, sizeof(struct ai_dump_value),
			  ops->dump_registers);
	ai_dump_by_driver(dumper, AI_DUMP_DRIVER, sizeof(struct ai_dump_value), ops->dump_driver);
	ai_dump_by_driver(dumper, AI_DUMP_FIRMWARE_LOG, 1, ops->dump_log);
}

/* ---- contracts ---- */

struct ai_dump_found {
	struct ai_contract *contract[AI_DUMP_MAX_CONTRACTS];
	u32 count;
	u32 omitted;
};

/* Those of the device that the caller may see, with references. */
static void ai_dump_find_contracts(struct ai_dumper *dumper, struct ai_dump_found *found)
{
	struct ai_device *adev = dumper->adev;
	struct ai_contract *contract;

	spin_lock_irq(&adev->lock);
	list_for_each_entry(contract, &adev->contracts, device_node) {
		if (!ai_dumper_sees(dumper, contract->uid, 0))
			continue;
		if (found->count == ARRAY_SIZE(found->contract)) {
			found->omitted++;
			continue;
		}
		kref_get(&contract->ref);
		found->contract[found->count++] = contract;
	}
	spin_unlock_irq(&adev->lock);
}

static void ai_dump_contract_memory(struct ai_contract *contract, struct ai_dump_contract *to)
{
	u32 i;

	memcpy(to->memory, contract->memory, sizeof(to->memory));
	/* Who has it may wait for the device, and the device for this dump. */
	if (!mutex_trylock(&contract->lock))
		return;
	for (i = 0; i < contract->nr_memory; i++)
		ai_contract_fill_memory(contract, i, &to->memory[i]);
	to->memory_known = 1;
	mutex_unlock(&contract->lock);
}

static void ai_dump_contract(struct ai_dumper *dumper, struct ai_contract *contract,
			     struct ai_dump_contract *element)
{
	memset(element, 0, sizeof(*element));
	element->uid = from_kuid_munged(current_user_ns(), contract->uid);
	element->info.id = contract->id;
	element->info.nr_memory = contract->nr_memory;
	element->info.terms = contract->terms;
	element->info.state = READ_ONCE(contract->state);
	strscpy(element->info.name, contract->name);
	ai_sla_fill(contract, &element->info);
	ai_dump_contract_memory(contract, element);
	ai_dump_add(dumper, element);
}

static void ai_dump_events(struct ai_dumper *dumper, struct ai_contract *contract,
			   struct ai_event *events)
{
	u32 i, count = ai_sla_peek(contract, 0, events, AI_EVENTS_KEPT);

	for (i = 0; i < count; i++) {
		struct ai_dump_event element = { .contract = contract->id, .event = events[i] };

		ai_dump_add(dumper, &element);
	}
}

/* What the two sections of contracts are made in. */
struct ai_dump_scratch {
	struct ai_dump_found found;
	struct ai_dump_contract contract;
	struct ai_event events[AI_EVENTS_KEPT];
};

static void ai_dump_contracts(struct ai_dumper *dumper)
{
	struct ai_dump_scratch *scratch = kvzalloc(sizeof(*scratch), dumper->gfp);
	struct ai_dump_found *found;
	u32 i;

	if (!scratch) {
		dumper->error = -ENOMEM;
		return;
	}
	found = &scratch->found;
	ai_dump_find_contracts(dumper, found);
	ai_dump_begin(dumper, AI_DUMP_CONTRACTS, sizeof(scratch->contract));
	for (i = 0; i < found->count; i++)
		ai_dump_contract(dumper, found->contract[i], &scratch->contract);
	ai_dump_omit(dumper, found->omitted);
	ai_dump_end(dumper);

	ai_dump_begin(dumper, AI_DUMP_EVENTS, sizeof(struct ai_dump_event));
	for (i = 0; i < found->count; i++) {
		ai_dump_events(dumper, found->contract[i], scratch->events);
		ai_contract_put(found->contract[i]);
	}
	ai_dump_end(dumper);
	kvfree(scratch);
}

void ai_dump_sections(struct ai_dumper *dumper)
{
	ai_dump_device(dumper);
	ai_dump_driver(dumper); /* before the sensors: it says whether the device answers */
	ai_dump_sensors(dumper);
	ai_dump_queue(dumper);
	ai_dump_contracts(dumper);
	ai_dump_decisions(dumper);
	ai_dump_tensors(dumper);
	ai_dump_ptes(dumper);
}
