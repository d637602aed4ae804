// SPDX-License-Identifier: GPL-2.0-only
/*
 * The firmware of the reference NPU: handshake with the driver, then one loop
 * that is woken by doorbells, by units that are done, and by the clock.
 */
#include "control.h"
#include "job.h"
#include "log.h"
#include "version.h"

namespace npu {

namespace {

Jobs jobs;
Control control;
u32 heartbeat;

[[noreturn]] void refuse_config(u32 offset, u32 found)
{
    log("configuration refused: the field at offset ", offset, " holds ", hex(found));
    reg_write(NPU_SYS_BOOT_FOUND, offset);
    reg_write(NPU_SYS_BOOT_NEEDED, 0);
    reg_write(NPU_SYS_BOOT_ERROR, NPU_BOOT_CONFIG);
    reg_write(NPU_SYS_STATE, NPU_STATE_BOOT_FAILED);
    halt();
}

void check_queue(const npu_queue_config& queue, u32 offset)
{
    if (queue.index_addr & 7 || !Dma::check(queue.index_addr, sizeof(npu_ring_index)))
        refuse_config(offset + __builtin_offsetof(npu_queue_config, index_addr),
                      static_cast<u32>(queue.index_addr));
    if (queue.cmd_addr & 7 || !Dma::check(queue.cmd_addr, NPU_QUEUE_ENTRIES * sizeof(npu_cmd)))
        refuse_config(offset + __builtin_offsetof(npu_queue_config, cmd_addr),
                      static_cast<u32>(queue.cmd_addr));
    if (queue.cpl_addr & 7 || !Dma::check(queue.cpl_addr, NPU_QUEUE_ENTRIES * sizeof(npu_cpl)))
        refuse_config(offset + __builtin_offsetof(npu_queue_config, cpl_addr),
                      static_cast<u32>(queue.cpl_addr));
}

void handshake()
{
    static npu_config config;

    if (!Dma::read(reg_read_pair(NPU_SYS_CONFIG_LO), &config, sizeof(config)))
        refuse_config(0, 0);
    if (config.magic != NPU_CONFIG_MAGIC)
        refuse_config(__builtin_offsetof(npu_config, magic), config.magic);
    if (config.bytes < sizeof(config))
        refuse_config(__builtin_offsetof(npu_config, bytes), config.bytes);
    if (config.driver_abi >> 16 != NPU_ABI_MAJOR || (config.driver_abi & 0xffff) > NPU_ABI_MINOR)
        refuse_config(__builtin_offsetof(npu_config, driver_abi), config.driver_abi);
    if (config.entries != NPU_QUEUE_ENTRIES)
        refuse_config(__builtin_offsetof(npu_config, entries), config.entries);
    for (u32 i = 0; i < NPU_QUEUES; i++)
        check_queue(config.queue[i], static_cast<u32>(__builtin_offsetof(npu_config, queue) +
                                                      i * sizeof(npu_queue_config)));

    jobs.init(config.queue[NPU_QUEUE_JOB]);
    control.init(config.queue[NPU_QUEUE_CTRL], jobs);
    reg_write(NPU_SYS_FW_VERSION, AI0_FW_VERSION);
    reg_write(NPU_SYS_FW_ABI, NPU_ABI_VERSION);
    log("firmware ", AI0_FW_VERSION_TEXT, " runs, interface ", NPU_ABI_MAJOR, ".", NPU_ABI_MINOR);
    reg_write(NPU_SYS_STATE, NPU_STATE_RUNNING);
}

void collect()
{
    for (;;) {
        u32 unit = reg_read(NPU_SYS_DONE_UNIT);

        if (unit == NPU_UNIT_NONE)
            return;

        u32 slot = reg_read(NPU_SYS_DONE_SLOT);
        u32 status = reg_read(NPU_SYS_DONE_STATUS);

        if (unit == NPU_UNIT_JOB)
            jobs.done(slot, status);
        else if (unit == NPU_UNIT_ENGINE_RESET)
            control.engine_reset_done(status);
        else
            control.done(slot, status);
    }
}

[[noreturn]] void serve()
{
    for (;;) {
        u32 pending = reg_read(NPU_SYS_PENDING);

        reg_write(NPU_SYS_WATCHDOG, 0);
        if (pending & NPU_PENDING_TICK)
            reg_write(NPU_SYS_HEARTBEAT, ++heartbeat);
        if (!pending) {
            wait();
            continue;
        }
        if (pending & NPU_PENDING_DONE)
            collect();
        /* Completions make room, so both queues are looked at whatever woke the core. */
        jobs.poll();
        control.poll();
        jobs.notify();
        control.notify();
    }
}

} // namespace

extern "C" [[noreturn]] void npu_main()
{
    handshake();
    serve();
}

} // namespace npu
