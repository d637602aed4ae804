// SPDX-License-Identifier: GPL-2.0-only
/*
 * The firmware: finding the image, checking what can be checked before the
 * device sees it, loading, and the boot handshake.
 *
 * The boot ROM checks everything again, and the signature besides: the checks
 * here exist to say what is wrong and what to do about it.
 */
#include <linux/firmware.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ai_npu.h"

#define AI_NPU_BOOT_POLL_US 500

static_assert(sizeof(struct npu_fw_header) == NPU_FW_HEADER_BYTES);
static_assert(offsetof(struct npu_fw_header, signature) == NPU_FW_SIGNED_BYTES);

static int ai_npu_fw_check_abi(struct ai_npu *npu, const struct npu_fw_header *header)
{
	u32 major = header->abi >> 16, minor = header->abi & 0xffff;
	u32 v = header->version;

	if (major == NPU_ABI_MAJOR && minor >= NPU_ABI_MINOR)
		return 0;
	if (major > NPU_ABI_MAJOR)
		dev_err(&npu->pdev->dev,
			"firmware %s is too new: found version %u.%u.%u with interface %u.%u, this driver needs interface %u.%u or a later %u.x; install an older firmware or a newer driver\n",
			npu->fw_name, v >> 16, v >> 8 & 0xff, v & 0xff, major, minor,
			NPU_ABI_MAJOR, NPU_ABI_MINOR, NPU_ABI_MAJOR);
	else
		dev_err(&npu->pdev->dev,
			"firmware %s is too old: found version %u.%u.%u with interface %u.%u, this driver needs interface %u.%u or a later %u.x; install a newer firmware\n",
			npu->fw_name, v >> 16, v >> 8 & 0xff, v & 0xff, major, minor,
			NPU_ABI_MAJOR, NPU_ABI_MINOR, NPU_ABI_MAJOR);
	return -EINVAL;
}

static int ai_npu_fw_check(struct ai_npu *npu)
{
	const struct npu_fw_header *header = (const void *)npu->fw->data;
	struct device *dev = &npu->pdev->dev;
	u64 size = npu->fw->size;

	if (size < sizeof(*header)) {
		dev_err(dev, "firmware %s is truncated: found %llu bytes, its header alone needs %zu; install a complete file\n",
			npu->fw_name, size, sizeof(*header));
		return -EINVAL;
	}
	if (header->magic != NPU_FW_MAGIC) {
		dev_err(dev, "firmware %s is no NPU firmware: found 0x%08x at its start, needed 0x%08x; install the right file\n",
			npu->fw_name, header->magic, NPU_FW_MAGIC);
		return -EINVAL;
	}
	if (header->header_version != NPU_FW_HEADER_VERSION ||
	    header->header_bytes != NPU_FW_HEADER_BYTES) {
		dev_err(dev, "firmware %s has a header of version %u with %u bytes, needed is version %u with %u bytes; install a firmware made for this driver\n",
			npu->fw_name, header->header_version, header->header_bytes,
			NPU_FW_HEADER_VERSION, NPU_FW_HEADER_BYTES);
		return -EINVAL;
	}
	if (header->code_bytes != size - sizeof(*header)) {
		dev_err(dev, "firmware %s is %s: found %llu bytes, its header says %zu and %llu of code; install a complete file\n",
			npu->fw_name, header->code_bytes > size - sizeof(*header) ?
			"truncated" : "too long", size, sizeof(*header), header->code_bytes);
		return -EINVAL;
	}
	if (ai_npu_fw_check_abi(npu, header))
		return -EINVAL;
	if (!(npu->profile < 32 && header->profiles & BIT(npu->profile))) {
		dev_err(dev, "firmware %s is for devices of kinds 0x%x (a bit each), this one is of kind %u (%s); install the firmware for this device\n",
			npu->fw_name, header->profiles, npu->profile,
			npu->profile == NPU_PROFILE_GPU ? "GPU" : "NPU");
		return -EINVAL;
	}
	if (size > npu->load_bytes) {
		dev_err(dev, "firmware %s has %llu bytes, the load window takes %llu; install a firmware made for this device\n",
			npu->fw_name, size, npu->load_bytes);
		return -EINVAL;
	}
	return 0;
}

/**
 * ai_npu_fw_request() - get the image and check it
 * @npu: with its registers mapped
 *
 * The image is kept, so that a restart needs no file system.
 *
 * Return: 0, -EINVAL if it cannot be used, or what the firmware loader said;
 * the log says why.
 */
int ai_npu_fw_request(struct ai_npu *npu)
{
	struct device *dev = &npu->pdev->dev;
	int ret;

	npu->fw_name = ai_npu_firmware_name();
	if (!npu->fw_name)
		return -ENOMEM;

	ret = firmware_request_nowarn(&npu->fw, npu->fw_name, dev);
	if (ret == -ENOENT)
		dev_err(dev, "firmware %s was not found, needed is one with interface %u.%u; install it below /lib/firmware or name another with the module parameter \"firmware\", then bind the device again\n",
			npu->fw_name, NPU_ABI_MAJOR, NPU_ABI_MINOR);
	else if (ret)
		dev_err(dev, "firmware %s could not be read (error %d); see the messages before this one, then bind the device again\n",
			npu->fw_name, ret);
	else
		ret = ai_npu_fw_check(npu);
	if (ret)
		ai_npu_fw_release(npu);
	return ret;
}

void ai_npu_fw_release(struct ai_npu *npu)
{
	release_firmware(npu->fw);
	npu->fw = NULL;
	kfree(npu->fw_name);
	npu->fw_name = NULL;
}

/* One sentence on what the boot ROM refused. */
static void ai_npu_fw_boot_error(struct ai_npu *npu)
{
	u32 error = ai_npu_read32(npu, boot_error);
	u32 found = ai_npu_read32(npu, boot_found);
	u32 needed = ai_npu_read32(npu, boot_needed);
	struct device *dev = &npu->pdev->dev;
	const char *name = npu->fw_name;

	switch (error) {
	case NPU_BOOT_SIZE:
		dev_err(dev, "the boot ROM refused firmware %s: found %u bytes, needed %u; install a complete file\n",
			name, found, needed);
		break;
	case NPU_BOOT_MAGIC:
		dev_err(dev, "the boot ROM refused firmware %s: found 0x%08x at its start, needed 0x%08x; install the right file\n",
			name, found, needed);
		break;
	case NPU_BOOT_HEADER_VERSION:
		dev_err(dev, "the boot ROM refused firmware %s: found header version %u, needed %u; install a firmware made for this device\n",
			name, found, needed);
		break;
	case NPU_BOOT_ABI:
		dev_err(dev, "the boot ROM refused firmware %s: found interface %u.%u, needed %u.%u; install a firmware made for this device\n",
			name, found >> 16, found & 0xffff, needed >> 16, needed & 0xffff);
		break;
	case NPU_BOOT_PROFILE:
		dev_err(dev, "the boot ROM refused firmware %s: it is for devices of kinds 0x%x, this one is 0x%x; install the firmware for this device\n",
			name, found, needed);
		break;
	case NPU_BOOT_DIGEST:
		dev_err(dev, "the boot ROM refused firmware %s: the SHA-256 of the code begins with 0x%08x, the header says 0x%08x; the file is damaged, install it again\n",
			name, found, needed);
		break;
	case NPU_BOOT_KEY:
		dev_err(dev, "the boot ROM refused firmware %s: it is signed with key 0x%08x, the device trusts key 0x%08x; install a firmware signed for this device\n",
			name, found, needed);
		break;
	case NPU_BOOT_SIGNATURE:
		dev_err(dev, "the boot ROM refused firmware %s: its signature is wrong; the file was changed after it was signed, install the original\n",
			name);
		break;
	case NPU_BOOT_CONFIG:
		dev_err(dev, "the firmware %s refused the configuration block at offset %u; install a firmware and a driver of one release\n",
			name, found);
		break;
	case NPU_BOOT_HANDSHAKE:
		dev_err(dev, "the firmware %s was started and did not come up; install another one\n",
			name);
		ai_npu_log_last(npu);
		break;
	default:
		dev_err(dev, "the boot ROM refused firmware %s with error %u (found 0x%x, needed 0x%x), which this driver does not know; update the driver\n",
			name, error, found, needed);
	}
}

static int ai_npu_fw_wait_running(struct ai_npu *npu, u64 timeout_us)
{
	u32 state;
	int ret;

	ret = read_poll_timeout(ai_npu_hw_state, state,
				state == NPU_STATE_RUNNING || state == NPU_STATE_BOOT_FAILED ||
				state == NPU_STATE_CRASHED || state == NPU_STATE_OFF ||
				READ_ONCE(npu->gone),
				AI_NPU_BOOT_POLL_US, timeout_us, false, npu);
	if (READ_ONCE(npu->gone))
		return -ENODEV;
	if (state == NPU_STATE_RUNNING)
		return 0;
	if (state == NPU_STATE_BOOT_FAILED) {
		ai_npu_fw_boot_error(npu);
		return -ENOEXEC;
	}
	if (state == NPU_STATE_CRASHED) {
		char text[AI_NPU_REASON_BYTES];

		ai_npu_hw_crash_text(npu, text, sizeof(text));
		dev_err(&npu->pdev->dev, "%s while it booted; install another one\n", text);
		ai_npu_log_last(npu);
		return -EIO;
	}
	dev_err(&npu->pdev->dev, "the device is %s %llu ms after the boot of firmware %s began, needed is running\n",
		ai_npu_hw_state_name(state), timeout_us / USEC_PER_MSEC, npu->fw_name);
	return ret ? -ETIME : -EIO;
}

static int ai_npu_fw_check_running(struct ai_npu *npu)
{
	const struct npu_fw_header *header = (const void *)npu->fw->data;
	u32 version = ai_npu_read32(npu, fw_version);
	u32 abi = ai_npu_read32(npu, fw_abi);
	char text[sizeof_field(struct ai_device, firmware)];

	if (abi != header->abi || version != header->version) {
		dev_err(&npu->pdev->dev, "the firmware that runs says it is %u.%u.%u with interface %u.%u, the image %s is %u.%u.%u with interface %u.%u; power-cycle the device\n",
			version >> 16, version >> 8 & 0xff, version & 0xff, abi >> 16, abi & 0xffff,
			npu->fw_name, header->version >> 16, header->version >> 8 & 0xff,
			header->version & 0xff, header->abi >> 16, header->abi & 0xffff);
		return -EIO;
	}
	scnprintf(text, sizeof(text), "%u.%u.%u", version >> 16, version >> 8 & 0xff,
		  version & 0xff);
	if (strcmp(text, npu->adev->firmware)) {
		char engine[sizeof(npu->adev->engine)];

		/* Read before the first boot and constant since then. */
		strscpy(engine, npu->adev->engine);
		ai_device_set_versions(npu->adev, text, engine);
	}
	return 0;
}

/**
 * ai_npu_fw_boot() - boot the device
 * @npu: with the device in the boot ROM and the queues stopped
 * @timeout_ms: how long to wait
 *
 * On success the control queue is open and the firmware has answered on it.
 *
 * Return: 0; -ENOEXEC if the boot ROM refused the image; -ETIME, -EIO, -ENODEV.
 * The log says why.
 */
int ai_npu_fw_boot(struct ai_npu *npu, unsigned int timeout_ms)
{
	u64 cookie = ktime_get_ns(), value;
	struct npu_cmd cmd = { .op = NPU_OP_PING, .arg[0] = cookie };
	ktime_t begin = ktime_get();
	s64 left;
	int ret;

	ai_npu_queues_reset(npu);
	memcpy_toio(npu->load, npu->fw->data, npu->fw->size);
	ai_npu_write64(npu, image_bytes, npu->fw->size);
	ai_npu_write64(npu, config_addr,
		       npu->shared_dma + offsetof(struct ai_npu_shared, config));
	ret = ai_npu_hw_reset(npu, NPU_RESET_BOOT, timeout_ms);
	if (ret) {
		dev_err(&npu->pdev->dev, "the boot ROM has not acknowledged the command to boot within %u ms\n",
			timeout_ms);
		return ret;
	}
	left = (s64)timeout_ms * USEC_PER_MSEC - ktime_us_delta(ktime_get(), begin);
	ret = ai_npu_fw_wait_running(npu, max_t(s64, left, 1000));
	if (!ret)
		ret = ai_npu_fw_check_running(npu);
	if (ret)
		return ret;

	ai_npu_queue_set(&npu->queue[NPU_QUEUE_CTRL], AI_NPU_OPEN);
	ret = ai_npu_command(npu, &cmd, atomic_read(&npu->stops), &value,
			     min(timeout_ms, ai_npu_timeout(&ai_npu_command_timeout_ms)));
	if (ret) {
		dev_err(&npu->pdev->dev, "the firmware runs but has not answered the first command (error %d)\n",
			ret);
		return -EIO;
	}
	if (value != cookie) {
		dev_err(&npu->pdev->dev, "the firmware answered the first command with 0x%llx, needed 0x%llx\n",
			value, cookie);
		return -EIO;
	}
	return 0;
}
