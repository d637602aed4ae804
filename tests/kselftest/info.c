// SPDX-License-Identifier: GPL-2.0-only
/* AI_INFO, AI_DEVICE_INFO and what sysfs says of the same devices. */
#define _GNU_SOURCE
#include "ai_test.h"

#include <dirent.h>
#include <sys/stat.h>

static void test_info(void)
{
	AI_ARG(ai_info, info);

	memset((char *)&info + sizeof(info.hdr), 0xff, sizeof(info) - sizeof(info.hdr));
	WORKS(ai_open(), AI_INFO, &info);
	EXPECT(info.abi_major == AI_ABI_MAJOR, "major %u", info.abi_major);
	EXPECT(info.abi_minor >= AI_ABI_MINOR, "minor %u", info.abi_minor);
	EXPECT(info.page_size == (unsigned long)sysconf(_SC_PAGESIZE), "page %u", info.page_size);
	EXPECT(info.nr_devices >= SIM_DEVICES, "%u devices", info.nr_devices);
	EXPECT(info.max_tensors == AI_MAX_TENSORS, "tensors %u", info.max_tensors);
	EXPECT(info.max_dims == AI_MAX_DIMS, "dims %u", info.max_dims);
	EXPECT(info.max_model_bytes == AI_MAX_MODEL_BYTES, "model %llu",
	       (unsigned long long)info.max_model_bytes);
	EXPECT(info.max_alloc_bytes >= 1ULL << 30, "alloc %llu",
	       (unsigned long long)info.max_alloc_bytes);
}

static bool text_good(const char *text, size_t room)
{
	size_t i, length = strnlen(text, room);

	if (length == room)
		return false;
	for (i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	/* Nothing of the kernel's stack behind it. */
	return all_bytes(text + length, room - length, 0);
}

static void test_walk(void)
{
	int fd = ai_open();
	unsigned int found = 0, next = AI_DEVICE_SYSTEM + 1;
	char names[AI_MAX_DEVICES][16];
	AI_ARG(ai_info, info);

	WORKS(fd, AI_INFO, &info);
	while (next < AI_MAX_DEVICES) {
		AI_ARG(ai_device_info, arg, .device = next);
		unsigned int i;

		memset((char *)&arg.health, 0xff,
		       sizeof(arg) - offsetof(struct ai_device_info, health));
		arg.hdr.flags = AI_DEVICE_NEXT;
		if (ai_call(fd, AI_DEVICE_INFO, &arg)) {
			arg.device = next;
			FAILS(fd, AI_DEVICE_INFO, &arg, ENOENT, NULL);
			break;
		}
		ASSERT(arg.device >= next && arg.device < AI_MAX_DEVICES, "device %u after %u",
		       arg.device, next);
		EXPECT(arg.health <= AI_HEALTH_FAILED, "health %u", arg.health);
		EXPECT(!(arg.properties & ~15U), "properties 0x%x", arg.properties);
		EXPECT(arg.queue_depth >= 1, "queue depth 0");
		EXPECT(arg.mem_free <= arg.mem_total, "more memory free than there is");
		EXPECT(!arg.mem_total == !(arg.properties & AI_DEVICE_F_MEMORY),
		       "%llu bytes of memory, properties 0x%x", (unsigned long long)arg.mem_total,
		       arg.properties);
		EXPECT(text_good(arg.name, sizeof(arg.name)) && arg.name[0], "name");
		EXPECT(text_good(arg.product, sizeof(arg.product)) && arg.product[0], "product");
		EXPECT(text_good(arg.firmware, sizeof(arg.firmware)), "firmware");
		EXPECT(text_good(arg.engine, sizeof(arg.engine)), "engine");
		EXPECT(text_good(arg.bus, sizeof(arg.bus)), "bus");
		for (i = 0; i < found; i++)
			EXPECT(strcmp(names[i], arg.name), "two devices are named %s", arg.name);
		strcpy(names[found++], arg.name);
		next = arg.device + 1;
	}
	EXPECT(found == info.nr_devices, "%u devices found, %u counted", found, info.nr_devices);
}

static void test_exact(void)
{
	int fd = ai_open();
	struct ai_device_info npu = ai_device(fd, SIM_FAST), gpu = ai_device(fd, SIM_MEDIUM);

	EXPECT(!strcmp(npu.name, "npu0"), "name %s", npu.name);
	EXPECT(!strcmp(gpu.name, "gpu0"), "name %s", gpu.name);
	EXPECT(npu.properties & AI_DEVICE_F_EMULATED, "not said to be emulated");
	EXPECT(npu.properties & AI_DEVICE_F_MODELS, "runs no models");
	EXPECT(npu.properties & AI_DEVICE_F_MEMORY, "has no memory");
	EXPECT(npu.mem_total == SIM_MEMORY_BYTES && npu.mem_free == SIM_MEMORY_BYTES,
	       "%llu of %llu bytes free", (unsigned long long)npu.mem_free,
	       (unsigned long long)npu.mem_total);
	EXPECT(npu.queue_depth == SIM_DEPTH && gpu.queue_depth == SIM_DEPTH, "depth %u and %u",
	       npu.queue_depth, gpu.queue_depth);
	EXPECT(npu.temp_throttle_mc > 0 && npu.temp_mc > 0, "no temperature");
	EXPECT(npu.power_mw <= npu.power_limit_mw, "%u of %u mW", npu.power_mw,
	       npu.power_limit_mw);
}

static void test_unknown_device(void)
{
	/* Behind the last one, and numbers that are none. */
	const uint32_t above[] = { AI_DEVICE(AI_CLASS_FPGA, 63), AI_MAX_DEVICES,
				   AI_MAX_DEVICES + SIM_FAST, 0x7fffffff, AI_DEVICE_ANY,
				   SIM_FAST | 0x100, SIM_FAST | 0x80000000 };
	const uint32_t among[] = { AI_DEVICE(AI_CLASS_CPU, 1), AI_DEVICE(AI_CLASS_GPU, 63),
				   AI_DEVICE(AI_CLASS_NPU, 63) };
	int fd = ai_open();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(above); i++) {
		AI_ARG(ai_device_info, arg, .device = above[i]);

		FAILS_EITHER(fd, AI_DEVICE_INFO, &arg, ENOENT, EINVAL, NULL);
		arg.hdr.flags = AI_DEVICE_NEXT;
		FAILS_EITHER(fd, AI_DEVICE_INFO, &arg, ENOENT, EINVAL, NULL);
	}
	for (i = 0; i < ARRAY_SIZE(among); i++) {
		AI_ARG(ai_device_info, arg, .device = among[i]);

		FAILS(fd, AI_DEVICE_INFO, &arg, ENOENT, NULL);
		arg.hdr.flags = AI_DEVICE_NEXT;
		WORKS(fd, AI_DEVICE_INFO, &arg);
		EXPECT(arg.device > among[i], "device %u", arg.device);
	}
}

static void test_counters(void)
{
	struct ai_device_info before, after;
	struct fixture fix;
	int i;

	fixture_open(&fix, SIM_SLOW, MODEL_NULL);
	before = ai_device(fix.fd, SIM_SLOW);
	for (i = 0; i < 3; i++)
		WORKS(fix.fd, AI_INFER, &fix.call);
	sim_set("fail", "1");
	FAILS(fix.fd, AI_INFER, &fix.call, EIO, NULL);
	after = ai_device(fix.fd, SIM_SLOW);
	EXPECT(after.jobs_done - before.jobs_done == 3, "%llu jobs done",
	       (unsigned long long)(after.jobs_done - before.jobs_done));
	EXPECT(after.jobs_failed - before.jobs_failed == 1, "%llu jobs failed",
	       (unsigned long long)(after.jobs_failed - before.jobs_failed));
	EXPECT(after.busy_ns - before.busy_ns >= 3 * SIM_SLOW_NS, "busy for %llu ns",
	       (unsigned long long)(after.busy_ns - before.busy_ns));
	EXPECT(!after.queued, "%u jobs queued", after.queued);
}

/* Every attribute can be read; those with a twin in AI_DEVICE_INFO agree. */
static unsigned int read_all(const char *folder, int depth)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned int count = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		char path[512], text[4097];
		struct stat st;
		ssize_t got;
		int file;

		/* "power" belongs to the driver core, which lets some reads fail. */
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "power"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (lstat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode) && depth)
			count += read_all(path, depth - 1);
		if (!S_ISREG(st.st_mode) || !(st.st_mode & 0444))
			continue;
		file = open(path, O_RDONLY | O_CLOEXEC);
		got = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
		EXPECT(got >= 0, "%s: %s", path, strerror(errno));
		if (file >= 0)
			close(file);
		count++;
	}
	closedir(dir);
	return count;
}

static void test_sysfs(void)
{
	static const char *const devices[] = { "npu0", "gpu0", "npu1", "fpga0" };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		char path[100];
		unsigned int count;

		snprintf(path, sizeof(path), "/sys/class/ai/%s/", devices[i]);
		count = read_all(path, 3);
		EXPECT(count >= 5, "%s: %u attributes", path, count);
	}
}

static void test_permissions(void)
{
	struct stat st;

	ASSERT(!stat("/dev/ai0", &st), "no /dev/ai0");
	EXPECT(S_ISCHR(st.st_mode), "no character device");
	EXPECT(!(st.st_mode & 07), "mode %o: everybody may open it", st.st_mode & 0777);
}

static const struct tap_test tests[] = {
	{ "AI_INFO tells the limits", test_info, 0 },
	{ "AI_DEVICE_NEXT finds every device once", test_walk, 0 },
	{ "a device is what it was set up to be", test_exact, 0 },
	{ "an unknown device is refused", test_unknown_device, 0 },
	{ "the counters of a device count", test_counters, 0 },
	{ "sysfs attributes can be read", test_sysfs, 0 },
	{ "/dev/ai0 is not for everybody", test_permissions, 0 },
};

TAP_MAIN(tests)
