// SPDX-License-Identifier: GPL-2.0-only
/*
 * Heat of a software device: a first-order model. With power P the temperature
 * tends to ambient + P * resistance and covers 63 % of the way in one time
 * constant. Above the throttle point the clock halves, until it is 5 degrees
 * below.
 */
#include <linux/module.h>

#include "ai_sim.h"

static int ambient = 25;
module_param(ambient, int, 0644);
MODULE_PARM_DESC(ambient, "ambient temperature in degrees Celsius (default 25)");

static uint throttle = 70;
module_param(throttle, uint, 0444);
MODULE_PARM_DESC(throttle, "temperature at which the clock halves, in degrees Celsius (default 70)");

static uint resistance = 1800;
module_param(resistance, uint, 0644);
MODULE_PARM_DESC(resistance, "thermal resistance in millikelvins per watt (default 1800)");

static uint time_constant_ms = 20000;
module_param(time_constant_ms, uint, 0644);
MODULE_PARM_DESC(time_constant_ms, "thermal time constant in milliseconds (default 20000)");

static uint idle_mw = 2000;
module_param(idle_mw, uint, 0644);
MODULE_PARM_DESC(idle_mw, "power of an idle device in milliwatts (default 2000)");

static uint busy_mw = 30000;
module_param(busy_mw, uint, 0444);
MODULE_PARM_DESC(busy_mw, "power of a busy device in milliwatts (default 30000)");

#define AI_SIM_CLOCK_MHZ 1000
#define AI_SIM_HYSTERESIS_MC 5000

s32 ai_sim_throttle_mc(void)
{
	return min(throttle, 1000U) * 1000;
}

u32 ai_sim_power_limit_mw(void)
{
	return busy_mw;
}

void ai_sim_thermal_init(struct ai_sim *sim)
{
	sim->thermal.updated = ktime_get();
	sim->thermal.temp_mc = clamp(ambient, -100, 200) * 1000;
}

/* Mean power since the last update, in milliwatts. */
static u32 ai_sim_power(const struct ai_sim_thermal *t, u64 elapsed_ns)
{
	u64 busy = min(t->busy_ns, elapsed_ns);

	if (!elapsed_ns || busy_mw < idle_mw)
		return idle_mw;
	return idle_mw + div64_u64(busy * (busy_mw - idle_mw), elapsed_ns);
}

static u32 ai_sim_thermal_update(struct ai_sim *sim)
{
	struct ai_sim_thermal *t = &sim->thermal;
	u64 tau_us = max(time_constant_ms, 1U) * 1000ULL;
	ktime_t now = ktime_get();
	u64 elapsed_ns = max_t(s64, ktime_to_ns(ktime_sub(now, t->updated)), 0);
	u32 power = ai_sim_power(t, elapsed_ns);
	u64 elapsed_us = elapsed_ns / NSEC_PER_USEC;
	s64 target;

	lockdep_assert_held(&sim->lock);
	/* Too short a time to move the temperature: let it add up. */
	if (elapsed_us < tau_us / 1000)
		return power;

	target = clamp(ambient, -100, 200) * 1000 + (s64)((u64)power * resistance / 1000);
	elapsed_us = min(elapsed_us, tau_us * 1000);
	t->temp_mc += div64_s64((target - t->temp_mc) * (s64)elapsed_us, tau_us + elapsed_us);
	t->updated = now;
	t->busy_ns = 0;
	if (t->temp_mc >= ai_sim_throttle_mc())
		t->throttled = true;
	else if (t->temp_mc < ai_sim_throttle_mc() - AI_SIM_HYSTERESIS_MC)
		t->throttled = false;
	return power;
}

/* The engine will be busy for that time. Under the device's lock. */
void ai_sim_thermal_run(struct ai_sim *sim, u64 busy_ns)
{
	sim->thermal.busy_ns += busy_ns;
	ai_sim_thermal_update(sim);
}

void ai_sim_sensors(struct ai_device *adev, struct ai_sensors *sensors)
{
	struct ai_sim *sim = adev->driver_data;

	spin_lock_irq(&sim->lock);
	sensors->power_mw = ai_sim_thermal_update(sim);
	sensors->temp_mc = sim->thermal.temp_mc;
	sensors->throttled = sim->thermal.throttled;
	spin_unlock_irq(&sim->lock);
	sensors->clock_mhz = sensors->throttled ? AI_SIM_CLOCK_MHZ / 2 : AI_SIM_CLOCK_MHZ;
}
