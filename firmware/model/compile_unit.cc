// SPDX-License-Identifier: GPL-2.0-only
#include "compile_unit.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "clock.h"
#include "engine_error.h"
#include "log.h"
#include "onnx_scan.h"

namespace ai0::npu {

namespace {

/*
 * What a compiled model depends on besides model, firmware and engine. The first
 * number changes with everything in this file that changes what is made.
 */
constexpr char kOptions[] = "1 extended onnx";

constexpr char kCancelled[] = "the model was unloaded while it was compiled";

Ort::SessionOptions common_options()
{
    Ort::SessionOptions options;

    options.DisablePerSessionThreads();
    /* The engine would keep a plan of memory, and memory, for each shape it has ever seen. */
    options.DisableMemPattern();
    /* Never another format, whatever the bytes look like. */
    options.AddConfigEntry("session.load_model_format", "ONNX");
    options.AddConfigEntry("session.use_env_allocators", "1");
    return options;
}

} // namespace

CompileUnit::CompileUnit(Ort::Env& env, Mmu& mmu, CompileCache& cache, JobRam& job_ram,
                         Board& board, DoneFifo& done)
    : env_(env), mmu_(mmu), cache_(cache), job_ram_(job_ram), board_(board), done_(done),
      thread_([this] { thread(); })
{
}

CompileUnit::~CompileUnit()
{
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

std::string CompileUnit::engine_name()
{
    return "ONNX Runtime " + Ort::GetVersionString() + " on the CPU";
}

/* ---- the table ---- */

void CompileUnit::load(std::uint32_t slot, std::uint64_t id, DeviceAddress artefact,
                       std::uint64_t bytes)
{
    {
        std::lock_guard lock(mutex_);
        if (models_.try_emplace(id).second) {
            loads_.push_back({slot, id, artefact, bytes});
            board_.compiling++;
            wake_.notify_one();
            return;
        }
    }
    npu_unit_info& unit = job_ram_.info(slot);
    unit.run_ns = 0;
    unit.value = 0;
    unit.flags = 0;
    unit.info.nr_inputs = 0;
    unit.info.nr_outputs = 0;
    unit.info.compile_ns = 0;
    set_message(unit.info.message,
                "model number " + std::to_string(id) + " is loaded already; unload it first");
    done_.push(NPU_UNIT_COMPILE, slot, NPU_ST_BAD_COMMAND);
}

/* A load that has not begun ends at once, one that is being compiled when the engine stops. */
void CompileUnit::unload(std::uint32_t slot, std::uint64_t id)
{
    std::shared_ptr<Model> model; /* the last reference may go, after the lock */
    std::optional<std::uint32_t> load_slot;
    npu_status status = NPU_ST_OK;
    {
        std::lock_guard lock(mutex_);
        auto found = models_.find(id);
        if (found == models_.end() || found->second.cancelled) {
            status = NPU_ST_NOT_FOUND;
        } else if (auto waiting = std::ranges::find(loads_, id, &Load::id);
                   waiting != loads_.end()) {
            load_slot = waiting->slot;
            loads_.erase(waiting);
            models_.erase(found);
            board_.compiling--;
        } else if (!found->second.model) {
            found->second.cancelled = true;
            wake_.notify_all();
            if (found->second.compiling)
                found->second.compiling->SetLoadCancellationFlag(true);
            unload_after_[id] = slot;
            return;
        } else {
            model = std::move(found->second.model);
            *found->second.unload_slot = slot;
            models_.erase(found);
            return;
        }
    }
    if (load_slot) {
        npu_unit_info& unit = job_ram_.info(*load_slot);
        std::memset(&unit, 0, sizeof(unit));
        set_message(unit.info.message, kCancelled);
        done_.push(NPU_UNIT_COMPILE, *load_slot, NPU_ST_ABORTED);
    }
    done_.push(NPU_UNIT_COMPILE, slot, status);
}

std::shared_ptr<Model> CompileUnit::find(std::uint64_t id)
{
    std::lock_guard lock(mutex_);
    auto found = models_.find(id);

    return found == models_.end() ? nullptr : found->second.model;
}

/* ---- compiling ---- */

CompileUnit::Outcome CompileUnit::refuse(npu_status status, std::string sentence)
{
    Outcome outcome;

    outcome.status = status;
    outcome.sentence = std::move(sentence);
    return outcome;
}

void CompileUnit::thread()
{
    std::unique_lock lock(mutex_);

    for (;;) {
        wake_.wait(lock, [this] { return stop_ || !loads_.empty(); });
        if (stop_)
            return;
        Load load = loads_.front();
        loads_.pop_front();
        lock.unlock();
        serve(load);
        lock.lock();
    }
}

void CompileUnit::serve(const Load& load)
{
    npu_unit_info& unit = job_ram_.info(load.slot);
    std::uint64_t begin = now_ns();
    std::memset(&unit, 0, sizeof(unit));

    Outcome outcome = compile(load, unit.value);
    unit.run_ns = now_ns() - begin;
    unit.info.compile_ns = unit.run_ns;
    unit.flags = outcome.cached ? NPU_CPL_CACHED : 0;

    std::optional<std::uint32_t> unload_slot;
    {
        std::lock_guard lock(mutex_);
        Entry& entry = models_[load.id];
        if (entry.cancelled) {
            outcome.status = NPU_ST_ABORTED;
            outcome.sentence = kCancelled;
            unload_slot = unload_after_[load.id];
            unload_after_.erase(load.id);
        }
        if (outcome.status == NPU_ST_OK) {
            outcome.model->describe(unit.info);
            publish(entry, std::move(outcome.model));
        } else {
            models_.erase(load.id);
        }
    }
    set_message(unit.info.message, outcome.sentence);
    board_.compiling--;
    done_.push(NPU_UNIT_COMPILE, load.slot, outcome.status);
    if (unload_slot)
        done_.push(NPU_UNIT_COMPILE, *unload_slot, NPU_ST_OK);
}

/* An unload is complete when the last job has let go of the model. */
void CompileUnit::publish(Entry& entry, std::unique_ptr<Model> model)
{
    auto slot = std::make_shared<std::optional<std::uint32_t>>();

    board_.models++;
    entry.unload_slot = slot;
    entry.model = std::shared_ptr<Model>(model.release(), [this, slot](Model* last) {
        std::unique_ptr<Model>(last).reset();
        board_.models--;
        if (*slot)
            done_.push(NPU_UNIT_COMPILE, **slot, NPU_ST_OK);
    });
}

/* The fault hang-compile: until the load is cancelled or the silicon goes. */
void CompileUnit::hang(const Load& load)
{
    std::unique_lock lock(mutex_);

    wake_.wait(lock, [&] { return stop_ || models_[load.id].cancelled; });
}

CompileUnit::Outcome CompileUnit::compile(const Load& load, __u64& fault)
{
    if (count_down(board_.hang_compile))
        hang(load);

    Mmu::Pin pin;
    std::vector<std::byte> copy;
    std::span<const std::byte> artefact;
    Mmu::Result result = mmu_.pin(0, load.artefact, load.bytes, Access::kRead, pin);

    try {
        if (result) {
            artefact = {pin.data(), load.bytes};
        } else if (result.kind == Mmu::Result::kScattered) {
            copy.resize(load.bytes);
            result = mmu_.read(0, load.artefact, copy);
            artefact = copy;
        }
        if (result.kind == Mmu::Result::kNoSpace)
            return refuse(NPU_ST_NOT_FOUND,
                          "address space 0, where models are read, does not exist");
        if (!result) {
            fault = raw(result.address);
            return refuse(NPU_ST_FAULT, "the model's bytes cannot be read at the address given");
        }
        return build(load, artefact);
    } catch (const Ort::Exception& error) {
        return refuse(compile_status(error), engine_sentence(error.what()));
    } catch (const std::bad_alloc&) {
        return refuse(NPU_ST_NO_MEMORY, "the device has not enough memory for the model");
    } catch (const std::exception& error) {
        return refuse(NPU_ST_UNSUPPORTED, engine_sentence(error.what()));
    }
}

CompileUnit::Outcome CompileUnit::build(const Load& load, std::span<const std::byte> artefact)
{
    ScanResult scan = scan_onnx(artefact);
    if (scan.status != NPU_ST_OK)
        return refuse(scan.status, scan.sentence);

    Outcome outcome;
    Sha256 hash = sha256(artefact);
    Sha256 key = CompileCache::key(hash, firmware_, engine_name(), kOptions);

    if (std::optional<std::vector<std::byte>> compiled = cache_.get(key)) {
        try {
            outcome.model = create(load, *compiled);
            outcome.cached = true;
        } catch (const Ort::Exception& error) {
            log_line("a compiled model from the cache was refused, it is made anew: " +
                     engine_sentence(error.what()));
        }
    }
    if (!outcome.model) {
        std::optional<std::vector<std::byte>> compiled = optimise(load, artefact);
        if (compiled) {
            outcome.model = create(load, *compiled);
            /* The driver could have changed the bytes meanwhile; the name must not lie. */
            if (sha256(artefact) == hash)
                cache_.put(key, *compiled);
        } else {
            outcome.model = create(load, artefact);
        }
    }
    if (!outcome.model->refusal().empty())
        return refuse(NPU_ST_UNSUPPORTED, outcome.model->refusal());
    return outcome;
}

/*
 * A compiled model is the graph after the optimisations that hold on any machine.
 * What runs is always made from it, so that a model out of the cache and a fresh
 * one give the same results. Nothing if the engine cannot do that; then the model
 * itself is tried, and what the engine says of it counts.
 */
std::optional<std::vector<std::byte>> CompileUnit::optimise(const Load& load,
                                                            std::span<const std::byte> artefact)
{
    std::filesystem::path file = cache_.scratch();
    std::optional<std::vector<std::byte>> compiled;
    std::error_code ignored;

    try {
        Ort::SessionOptions options = common_options();
        options.SetGraphOptimizationLevel(ORT_ENABLE_EXTENDED);
        options.SetOptimizedModelFilePath(file.c_str());
        session(load, artefact, options);
        std::ifstream in(file, std::ios::binary | std::ios::ate);
        if (in) {
            compiled.emplace(static_cast<std::size_t>(in.tellg()));
            in.seekg(0);
            in.read(reinterpret_cast<char*>(compiled->data()),
                    static_cast<std::streamsize>(compiled->size()));
            if (!in)
                compiled.reset();
        }
    } catch (const Ort::Exception&) {
        compiled.reset();
    }
    std::filesystem::remove(file, ignored);
    return compiled;
}

std::unique_ptr<Model> CompileUnit::create(const Load& load, std::span<const std::byte> bytes)
{
    Ort::SessionOptions options = common_options();

    options.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
    return std::make_unique<Model>(session(load, bytes, options));
}

/* A session, unless the model is unloaded meanwhile. */
Ort::Session CompileUnit::session(const Load& load, std::span<const std::byte> bytes,
                                  Ort::SessionOptions& options)
{
    auto note = [&](Ort::SessionOptions* compiling) {
        std::lock_guard lock(mutex_);
        Entry& entry = models_[load.id];
        entry.compiling = compiling;
        return !entry.cancelled;
    };
    if (!note(&options))
        throw Ort::Exception(kCancelled, ORT_FAIL);
    try {
        Ort::Session made(env_, bytes.data(), bytes.size(), options);
        note(nullptr);
        return made;
    } catch (...) {
        note(nullptr);
        throw;
    }
}

} // namespace ai0::npu
