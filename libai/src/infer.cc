/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/infer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "clock.h"
#include "file.h"
#include "loaded_model.h"
#include "tensor_access.h"
#include "text.h"

namespace ai {

namespace {

/* Room for an output of unknown size when it is seen for the first time. */
constexpr Bytes kFirstRoom{64 << 10};

/* How often to look for the job that a stop request is to end. */
constexpr Nanoseconds kCancelPause = std::chrono::microseconds(100);

Record from_kernel(const ai_infer& argument)
{
    const ai_record& record = argument.record;
    Record out;

    out.job = record.job;
    out.device = DeviceId(record.device);
    out.device_name = detail::text_of(record.device_name);
    out.firmware = detail::text_of(record.firmware);
    out.generation = record.generation;
    out.queue = Nanoseconds(record.queue_ns);
    out.run = Nanoseconds(record.run_ns);
    out.cpu_copied = Bytes(record.bytes_cpu);
    out.dma_moved = Bytes(record.bytes_dma);
    out.in_place = Bytes(record.bytes_in_place);
    out.fault = LogicalAddress(record.fault_la);
    out.late = (record.flags & AI_RECORD_LATE) != 0;
    out.rerun = (record.flags & AI_RECORD_RERUN) != 0;
    out.throttled = (record.flags & AI_RECORD_THROTTLED) != 0;
    out.service = static_cast<Service>(argument.service);
    out.broken = argument.broken;
    out.moved = static_cast<Term>(argument.moved);
    out.latency = Nanoseconds(argument.latency_ns);
    out.energy = Energy(argument.energy_uj);
    return out;
}

/* A cookie that no other call of this process has; the first bit keeps it apart. */
std::uint64_t fresh_cookie()
{
    static std::atomic<std::uint64_t> next{1};

    return next.fetch_add(1, std::memory_order_relaxed) | std::uint64_t(1) << 63;
}

/* Ends the job of one call when a stop is requested, in the thread that requests it. */
class StopGuard {
public:
    StopGuard(const Session& session, std::uint64_t cookie, const std::stop_token& stop)
        : session_(session), cookie_(cookie), callback_(stop, [this] { end_job(); })
    {
    }

    /* Whether the stop was requested before there could be a job. */
    bool came_early() const { return came_early_; }

    /* Before this object goes: its destructor waits for a callback that runs. */
    void call_returned() { returned_.store(true, std::memory_order_release); }

private:
    /* The job may not be made yet; then there is nothing to cancel for a moment. */
    void end_job()
    {
        if (std::this_thread::get_id() == caller_) {
            came_early_ = true;
            return;
        }
        while (!returned_.load(std::memory_order_acquire)) {
            Result<std::uint32_t> cancelled = cancel(session_, cookie_);
            if (!cancelled || *cancelled > 0)
                return;
            std::this_thread::sleep_for(kCancelPause);
        }
    }

    const Session& session_;
    std::uint64_t cookie_;
    std::thread::id caller_ = std::this_thread::get_id();
    bool came_early_ = false;
    std::atomic<bool> returned_{false};
    std::stop_callback<std::function<void()>> callback_;
};

Result<void> call_with_stop(const Session& session, ai_infer& argument, const std::stop_token& stop)
{
    const detail::File& file = *detail::File::of(session);

    if (!stop.stop_possible())
        return file.call(AI_INFER, "AI_INFER", argument);
    StopGuard guard(session, argument.cookie, stop);
    if (guard.came_early())
        return Error{ECANCELED, "a stop was requested before the job was made"};
    Result<void> result = file.call(AI_INFER, "AI_INFER", argument);
    guard.call_returned();
    return result;
}

Result<void> check_count(const char* what, std::size_t given, std::size_t needed)
{
    if (given == needed)
        return {};
    return Error{EINVAL, std::to_string(given) + " " + what + " are given, the model has " +
                             std::to_string(needed)};
}

/* So that the next call finds room at once. */
void remember(detail::LoadedModel& model, std::size_t output, std::uint64_t bytes)
{
    std::atomic<std::uint64_t>& most = model.output_bytes[output];
    std::uint64_t before = most.load(std::memory_order_relaxed);

    while (before < bytes &&
           !most.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
    }
}

/* Bytes an output will take as far as that is known, else a guess. */
Bytes expected_bytes(detail::LoadedModel& model, std::size_t output, std::span<const Tensor> inputs)
{
    const TensorInfo& info = model.outputs[output];

    if (info.dtype != DType::kString)
        if (std::optional<Shape> shape = info.shape())
            return tensor_bytes(info.dtype, *shape).value_or(kFirstRoom);
    if (std::uint64_t most = model.output_bytes[output].load(std::memory_order_relaxed))
        return Bytes(most);

    Bytes guess = kFirstRoom;
    for (const Tensor& input : inputs)
        guess = std::max(guess, input.bytes());
    return guess;
}

Result<void> make_room(const Model& model, std::vector<Tensor>& outputs, std::size_t output,
                       Bytes bytes)
{
    DType dtype = model.outputs()[output].dtype;

    if (outputs[output].dtype() == dtype && outputs[output].capacity() >= bytes)
        return {};
    outputs[output] = Tensor(); /* gives its memory back first */
    if (bytes == Bytes(0))
        return {};
    Result<std::shared_ptr<Buffer>> buffer = Buffer::allocate(model.session(), bytes);
    if (!buffer)
        return std::move(buffer).error();
    Bytes capacity = (*buffer)->size();
    Result<Tensor> room = Tensor::room(std::move(*buffer), Bytes(0), dtype, capacity);
    if (!room)
        return std::move(room).error();
    outputs[output] = std::move(*room);
    return {};
}

/* After ENOSPC: whether any output was found too small, and has its room now. */
Result<bool> grow(const Model& model, std::vector<Tensor>& outputs)
{
    bool grown = false;

    for (std::size_t i = 0; i < outputs.size(); i++) {
        if (outputs[i].needed() <= outputs[i].capacity())
            continue;
        if (Result<void> made = make_room(model, outputs, i, outputs[i].needed()); !made)
            return std::move(made).error();
        grown = true;
    }
    return grown;
}

} // namespace

Result<Completion> infer(const Model& model, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs, const InferOptions& options)
{
    detail::LoadedModel& impl = detail::LoadedModel::of(model);
    std::array<ai_tensor, AI_MAX_TENSORS> in;
    std::array<ai_tensor, AI_MAX_TENSORS> out;
    ai_infer argument{};

    if (options.record)
        *options.record = Record();
    Result<void> counts = check_count("inputs", inputs.size(), impl.inputs.size()).and_then([&] {
        return check_count("outputs", outputs.size(), impl.outputs.size());
    });
    if (!counts)
        return std::move(counts).error();
    for (std::size_t i = 0; i < inputs.size(); i++)
        in[i] = detail::TensorAccess::to_kernel(inputs[i], inputs[i].bytes());
    for (std::size_t i = 0; i < outputs.size(); i++)
        out[i] = detail::TensorAccess::to_kernel(outputs[i], outputs[i].capacity());

    argument.inputs = reinterpret_cast<std::uintptr_t>(in.data());
    argument.outputs = reinterpret_cast<std::uintptr_t>(out.data());
    argument.nr_inputs = static_cast<std::uint32_t>(inputs.size());
    argument.nr_outputs = static_cast<std::uint32_t>(outputs.size());
    argument.model = impl.handle;
    argument.priority = options.priority;
    argument.deadline_ns = options.deadline ? detail::to_kernel_time(*options.deadline) : 0;
    argument.timeout_ns = detail::to_kernel_timeout(options.timeout);
    argument.cookie = options.cookie ? *options.cookie : fresh_cookie();
    if (options.contract) {
        argument.hdr.flags = AI_INFER_CONTRACT;
        argument.contract = options.contract->fd();
    }

    Result<void> result = call_with_stop(impl.session, argument, options.stop);
    if (options.record)
        *options.record = from_kernel(argument);
    for (std::size_t i = 0; i < outputs.size(); i++) {
        if (result)
            detail::TensorAccess::set_result(outputs[i], out[i]);
        else
            detail::TensorAccess::set_needed(outputs[i], Bytes(out[i].needed));
        remember(impl, i, out[i].needed);
    }
    if (!result)
        return std::move(result).error();
    return Completion{from_kernel(argument)};
}

Result<Completion> infer_into(const Model& model, std::span<const Tensor> inputs,
                              std::vector<Tensor>& outputs, const InferOptions& options)
{
    detail::LoadedModel& impl = detail::LoadedModel::of(model);
    const Clock::time_point begin = Clock::now();
    InferOptions attempt = options;

    if (!attempt.cookie)
        attempt.cookie = fresh_cookie();
    outputs.resize(impl.outputs.size());
    for (std::size_t i = 0; i < outputs.size(); i++)
        if (outputs[i].capacity() == Bytes(0)) {
            Result<void> made = make_room(model, outputs, i, expected_bytes(impl, i, inputs));
            if (!made)
                return std::move(made).error();
        }

    for (;;) {
        Result<Completion> done = infer(model, inputs, std::span(outputs), attempt);
        if (done || done.error().code != ENOSPC)
            return done;
        Result<bool> grown = grow(model, outputs);
        if (!grown)
            return std::move(grown).error();
        /* Then it is the device that has no space, not the outputs. */
        if (!*grown)
            return done;
        if (options.timeout > Nanoseconds(0))
            attempt.timeout =
                std::max<Nanoseconds>(options.timeout - (Clock::now() - begin), Nanoseconds(1));
    }
}

Result<Inference> infer(const Model& model, std::span<const Tensor> inputs,
                        const InferOptions& options)
{
    Inference inference;
    Result<Completion> done = infer_into(model, inputs, inference.outputs, options);

    if (!done)
        return std::move(done).error();
    inference.record = std::move(done->record);
    return inference;
}

} // namespace ai
