// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sensors of the device in hwmon, and its temperature as a thermal zone.
 *
 * Both read registers only, which are there from probe to remove whatever state
 * the device is in. A device that is off, lost or gone has no values.
 */
#include <linux/hwmon.h>
#include <linux/thermal.h>

#include "ai_npu.h"

/* The kernel's own look at the zone; the device also tells when it throttles. */
#define AI_NPU_THERMAL_POLL_MS 1000
#define AI_NPU_THERMAL_HYSTERESIS_MC 2000

static int ai_npu_hwmon_sensors(struct ai_npu *npu, struct ai_sensors *sensors)
{
	if (READ_ONCE(npu->lost) || !ai_npu_hw_readable(npu))
		return -ENODEV;
	if (ai_npu_hw_state(npu) == NPU_STATE_OFF)
		return -ENODATA;
	ai_npu_hw_sensors(npu, sensors);
	return 0;
}

static umode_t ai_npu_hwmon_visible(const void *data, enum hwmon_sensor_types type, u32 attr,
				    int channel)
{
	return 0444;
}

static int ai_npu_hwmon_read(struct device *dev, enum hwmon_sensor_types type, u32 attr,
			     int channel, long *val)
{
	struct ai_npu *npu = dev_get_drvdata(dev);
	struct ai_sensors sensors;
	int ret = ai_npu_hwmon_sensors(npu, &sensors);

	if (ret)
		return ret;
	if (type == hwmon_temp && attr == hwmon_temp_input)
		*val = sensors.temp_mc;
	else if (type == hwmon_temp && attr == hwmon_temp_crit)
		*val = npu->adev->temp_throttle_mc;
	else if (type == hwmon_power && attr == hwmon_power_input)
		*val = (long)sensors.power_mw * 1000;
	else if (type == hwmon_power && attr == hwmon_power_cap)
		*val = (long)npu->adev->power_limit_mw * 1000;
	else
		return -EOPNOTSUPP;
	return 0;
}

static int ai_npu_hwmon_string(struct device *dev, enum hwmon_sensor_types type, u32 attr,
			       int channel, const char **str)
{
	*str = type == hwmon_temp ? "engine" : "board";
	return 0;
}

static const struct hwmon_ops ai_npu_hwmon_ops = {
	.is_visible = ai_npu_hwmon_visible,
	.read = ai_npu_hwmon_read,
	.read_string = ai_npu_hwmon_string,
};

static const struct hwmon_channel_info * const ai_npu_hwmon_channels[] = {
	HWMON_CHANNEL_INFO(temp, HWMON_T_INPUT | HWMON_T_CRIT | HWMON_T_LABEL),
	HWMON_CHANNEL_INFO(power, HWMON_P_INPUT | HWMON_P_CAP | HWMON_P_LABEL),
	NULL
};

static const struct hwmon_chip_info ai_npu_hwmon_chip = {
	.ops = &ai_npu_hwmon_ops,
	.info = ai_npu_hwmon_channels,
};

static int ai_npu_thermal_get_temp(struct thermal_zone_device *zone, int *temp)
{
	struct ai_sensors sensors;

	/* The zone is looked at again later, without a message. */
	if (ai_npu_hwmon_sensors(thermal_zone_device_priv(zone), &sensors))
		return -EAGAIN;
	*temp = sensors.temp_mc;
	return 0;
}

static const struct thermal_zone_device_ops ai_npu_thermal_ops = {
	.get_temp = ai_npu_thermal_get_temp,
};

static struct thermal_zone_device *ai_npu_thermal_register(struct ai_npu *npu)
{
	const struct thermal_trip trip = {
		.type = THERMAL_TRIP_PASSIVE,
		.temperature = npu->adev->temp_throttle_mc,
		.hysteresis = AI_NPU_THERMAL_HYSTERESIS_MC,
	};
	/* The hwmon device above shows the temperature already. */
	const struct thermal_zone_params params = { .no_hwmon = true };
	struct thermal_zone_device *zone;
	char type[THERMAL_NAME_LENGTH];
	int ret;

	scnprintf(type, sizeof(type), "ai-%s", dev_name(&npu->adev->dev));
	zone = thermal_zone_device_register_with_trips(type, &trip, 1, npu, &ai_npu_thermal_ops,
						       &params, 0, AI_NPU_THERMAL_POLL_MS);
	if (IS_ERR(zone))
		return zone;
	ret = thermal_zone_device_enable(zone);
	if (ret) {
		thermal_zone_device_unregister(zone);
		return ERR_PTR(ret);
	}
	return zone;
}

/* The device works without: what cannot be registered is left out, with a word. */
void ai_npu_hwmon_init(struct ai_npu *npu)
{
	struct thermal_zone_device *zone;
	struct device *hwmon;

	hwmon = hwmon_device_register_with_info(&npu->pdev->dev, AI_NPU_NAME, npu,
						&ai_npu_hwmon_chip, NULL);
	if (IS_ERR(hwmon))
		dev_warn(&npu->pdev->dev, "no hwmon device: error %ld\n", PTR_ERR(hwmon));
	else
		npu->hwmon = hwmon;

	zone = ai_npu_thermal_register(npu);
	if (IS_ERR(zone))
		dev_warn(&npu->pdev->dev, "no thermal zone: error %ld\n", PTR_ERR(zone));
	else
		WRITE_ONCE(npu->thermal, zone);
}

void ai_npu_hwmon_fini(struct ai_npu *npu)
{
	struct thermal_zone_device *zone = npu->thermal;

	/* An event that looks at the zone runs on the recovery workqueue. */
	WRITE_ONCE(npu->thermal, NULL);
	flush_work(&npu->recovery.event_work);
	if (zone)
		thermal_zone_device_unregister(zone);
	if (npu->hwmon)
		hwmon_device_unregister(npu->hwmon);
}

/* Throttling began or ended: have the zone looked at now. Recovery workqueue. */
void ai_npu_hwmon_update(struct ai_npu *npu)
{
	struct thermal_zone_device *zone = READ_ONCE(npu->thermal);

	if (zone)
		thermal_zone_device_update(zone, THERMAL_EVENT_UNSPECIFIED);
}
