// SPDX-License-Identifier: GPL-2.0-only
#include "tensor_engine.h"

#include <algorithm>
#include <chrono>

#include "clock.h"
#include "engine_error.h"

namespace ai0::npu {

namespace {

/* How long a reset waits for an engine that does not stop. */
constexpr std::uint64_t kResetNs = 400000000;

/* Memory that inferences of other shapes needed is given back once in so many. */
constexpr std::uint32_t kShrinkEvery = 64;

/* The highest page of the address space, where no driver maps anything. */
constexpr DeviceAddress kNowhere{(1ULL << NPU_VA_BITS) - kPageBytes};

} // namespace

TensorEngine::TensorEngine(const Profile& profile, Mmu& mmu, CompileUnit& compiler, JobRam& job_ram,
                           Thermal& thermal, Board& board, DoneFifo& done)
    : profile_(profile), mmu_(mmu), compiler_(compiler), job_ram_(job_ram), thermal_(thermal),
      board_(board), done_(done), engines_(profile.engines)
{
    for (unsigned i = 0; i < engines_.size(); i++)
        engines_[i].thread = std::thread([this, i] { engine_thread(i); });
    copier_.thread = std::thread([this] { copy_thread(); });
}

TensorEngine::~TensorEngine()
{
    {
        std::lock_guard lock(mutex_);
        shut_down_ = true;
        for (Engine& engine : engines_)
            if (engine.running)
                stop(*engine.running, Stop::kReset);
    }
    wake_.notify_all();
    for (Engine& engine : engines_)
        engine.thread.join();
    copier_.thread.join();
}

/* ---- work in and out ---- */

void TensorEngine::start(std::uint32_t slot)
{
    const npu_unit_job& unit = job_ram_.job(slot);
    auto job = std::make_shared<Job>();

    job->slot = slot;
    job->op = unit.op;
    job->asid = unit.asid;
    if (job->op == NPU_OP_INFER) {
        job->model = compiler_.find(unit.object);
        if (!job->model) {
            job->fail(NPU_ST_NOT_FOUND,
                      "model number " + std::to_string(unit.object) + " is not loaded");
            finish(*job);
            return;
        }
    }
    {
        std::lock_guard lock(mutex_);
        waiting_[job->op == NPU_OP_INFER ? kTensor : kCopy].push_back(std::move(job));
        board_.jobs_queued++;
    }
    wake_.notify_all();
}

void TensorEngine::finish(Job& job)
{
    npu_unit_job& unit = job_ram_.job(job.slot);

    unit.flags = job.flags;
    unit.energy_uj = job.energy_uj;
    unit.run_ns = job.run_ns;
    unit.value = job.value;
    unit.bytes_in_place = job.bytes_in_place;
    unit.bytes_dma = job.bytes_dma;
    if (job.op == NPU_OP_INFER)
        set_message(job_ram_.desc(job.slot).message, job.sentence);
    board_.jobs_done++;
    done_.push(NPU_UNIT_JOB, job.slot, job.status);
}

void TensorEngine::stop(Job& job, Stop why)
{
    std::lock_guard lock(job.mutex);

    if (job.stop < why)
        job.stop = why;
    if (job.run_options) {
        /* Cannot fail for options that exist, and nobody here could do anything about it. */
        Ort::Status ignored(Ort::GetApi().RunOptionsSetTerminate(job.run_options));
    }
    job.stopped.notify_all();
}

void TensorEngine::abort(std::uint32_t slot)
{
    std::shared_ptr<Job> waited;
    {
        std::lock_guard lock(mutex_);
        for (auto& queue : waiting_) {
            auto found = std::find_if(queue.begin(), queue.end(),
                                      [&](const auto& job) { return job->slot == slot; });
            if (found == queue.end())
                continue;
            waited = std::move(*found);
            queue.erase(found);
            board_.jobs_queued--;
            break;
        }
        for (Engine& engine : engines_)
            if (engine.running && engine.running->slot == slot)
                stop(*engine.running, Stop::kAbort);
        if (copier_.running && copier_.running->slot == slot)
            stop(*copier_.running, Stop::kAbort);
    }
    if (!waited)
        return;
    waited->fail(NPU_ST_ABORTED, "the job was aborted before it began");
    /* The model may be freed with the job, and tells the driver so: after the job has. */
    finish(*waited);
}

/* ---- engine reset ---- */

void TensorEngine::reset()
{
    std::lock_guard lock(mutex_);
    bool running = false;

    for (Engine& engine : engines_) {
        if (!engine.running)
            continue;
        running = true;
        stop(*engine.running, Stop::kReset);
    }
    if (!running) {
        finish_reset_locked(true);
        return;
    }
    if (!resetting_)
        reset_deadline_ns_ = now_ns() + kResetNs;
    resetting_ = true;
}

void TensorEngine::finish_reset_locked(bool worked)
{
    resetting_ = false;
    last_reset_worked_ = worked;
    resets_done_++;
    done_.push(NPU_UNIT_ENGINE_RESET, 0, worked ? NPU_ST_OK : NPU_ST_ENGINE);
}

void TensorEngine::tick()
{
    std::lock_guard lock(mutex_);

    if (resetting_ && now_ns() > reset_deadline_ns_)
        finish_reset_locked(false);
}

std::uint64_t TensorEngine::take_busy_ns()
{
    std::lock_guard lock(mutex_);
    std::uint64_t busy = busy_ns_;
    std::uint64_t now = now_ns();

    for (const Engine& engine : engines_)
        if (engine.running)
            busy += now - engine.begun_ns;
    std::uint64_t taken = busy_taken_ns_;
    busy_taken_ns_ = busy;
    return busy > taken ? busy - taken : 0;
}

/* ---- engines ---- */

/* Waits for work while the engine may begin some. Null when the silicon goes. */
std::shared_ptr<Job> TensorEngine::next(Queue queue, Engine* engine)
{
    std::unique_lock lock(mutex_);

    wake_.wait(lock, [&] {
        return shut_down_ || (!waiting_[queue].empty() && !(queue == kTensor && resetting_));
    });
    if (shut_down_)
        return nullptr;
    engine->running = std::move(waiting_[queue].front());
    engine->begun_ns = now_ns();
    waiting_[queue].pop_front();
    board_.jobs_queued--;
    board_.jobs_running++;
    return engine->running;
}

void TensorEngine::engine_thread(unsigned index)
{
    Engine& engine = engines_[index];

    while (std::shared_ptr<Job> job = next(kTensor, &engine)) {
        infer(*job);
        std::unique_lock lock(mutex_);
        engine.running.reset();
        busy_ns_ += now_ns() - engine.begun_ns;
        board_.jobs_running--;
        finish(*job);
        if (resetting_ && std::none_of(engines_.begin(), engines_.end(),
                                       [](const Engine& e) { return e.running != nullptr; })) {
            finish_reset_locked(true);
            wake_.notify_all();
        }
    }
}

void TensorEngine::copy_thread()
{
    while (std::shared_ptr<Job> job = next(kCopy, &copier_)) {
        copy(*job);
        std::lock_guard lock(mutex_);
        copier_.running.reset();
        board_.jobs_running--;
        finish(*job);
    }
}

/* A fault that was asked for: the engine does nothing and hears only what it should. */
void TensorEngine::hang(Job& job)
{
    Hang hang = board_.hang_next.exchange(Hang::kNone);

    if (hang == Hang::kNone)
        return;
    std::unique_lock lock(job.mutex);
    job.stopped.wait(lock, [&] {
        Stop stop = job.stop;
        return (hang == Hang::kUntilAbort && stop != Stop::kNo) ||
               (hang == Hang::kUntilEngineReset && stop == Stop::kReset);
    });
}

/* Lower clocks make a run longer, and so does the setting "slow". */
void TensorEngine::stretch(Job& job, std::uint64_t begin)
{
    double factor = thermal_.stretch() * board_.slow;
    std::uint64_t now = now_ns();

    if (factor <= 1)
        return;
    auto rest = std::chrono::nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(now - begin) * (factor - 1)));
    std::unique_lock lock(job.mutex);
    job.stopped.wait_for(lock, rest, [&] { return job.stop != Stop::kNo; });
}

void TensorEngine::infer(Job& job)
{
    std::uint64_t begin = now_ns();

    if (thermal_.throttled())
        job.flags |= NPU_CPL_THROTTLED;
    try {
        {
            std::lock_guard lock(job.mutex);
            job.run_options = Ort::RunOptions();
            if (++inferences_ % kShrinkEvery == 0)
                job.run_options.AddConfigEntry("memory.enable_memory_arena_shrinkage", "cpu:0");
            if (job.stop != Stop::kNo)
                job.run_options.SetTerminate();
        }
        hang(job);
        if (job.stop == Stop::kNo) {
            if (take(board_.fault_next)) {
                Mmu::Pin pin;
                Mmu::Result result = mmu_.pin(job.asid, kNowhere, 1, Access::kRead, pin);
                if (!result) {
                    job.fail(NPU_ST_FAULT, "the engine could not reach an address it computed");
                    job.value = raw(kNowhere);
                }
            }
            if (job.status == NPU_ST_OK)
                Inference(job, job_ram_.desc(job.slot), mmu_).run();
            if (job.status == NPU_ST_OK && take(board_.ecc_next))
                job.fail(NPU_ST_ECC,
                         "memory of the engine had an error that could not be corrected");
        }
    } catch (const Ort::Exception& error) {
        job.fail(run_status(error), engine_sentence(error.what()));
    } catch (const std::bad_alloc&) {
        job.fail(NPU_ST_NO_MEMORY, "the device has not enough memory for this inference");
    } catch (const std::exception& error) {
        job.fail(NPU_ST_ENGINE, engine_sentence(error.what()));
    }
    stretch(job, begin);
    {
        std::lock_guard lock(job.mutex);
        job.run_options = Ort::RunOptions(nullptr);
    }
    /* Whoever ended it has been told so, even if it was done at that moment. */
    if (job.stop == Stop::kReset)
        job.fail(NPU_ST_RESET, "the job was ended by a reset of the engine");
    else if (job.stop == Stop::kAbort)
        job.fail(NPU_ST_ABORTED, "the job was aborted while it ran");
    job.run_ns = now_ns() - begin;
    job.energy_uj = static_cast<std::uint32_t>(
        std::min(thermal_.engine_watts() * static_cast<double>(job.run_ns) / 1e3, 4e9));
    if (thermal_.throttled())
        job.flags |= NPU_CPL_THROTTLED;
}

void TensorEngine::copy(Job& job)
{
    const npu_unit_job& unit = job_ram_.job(job.slot);
    DeviceAddress to{unit.arg[0]}, from{unit.arg[1]};
    std::uint64_t left = unit.arg[2];
    std::uint64_t begin = now_ns();

    while (left && job.stop == Stop::kNo) {
        std::uint64_t moved = 0;
        Mmu::Result result = mmu_.copy_some(job.asid, to, from, left, moved);

        job.bytes_dma += moved;
        if (!result) {
            job.status = result.kind == Mmu::Result::kNoSpace ? NPU_ST_NOT_FOUND : NPU_ST_FAULT;
            job.value = raw(result.address);
            break;
        }
        to = to + moved;
        from = from + moved;
        left -= moved;
    }
    if (left && job.status == NPU_ST_OK)
        job.status = NPU_ST_ABORTED;
    if (job.status == NPU_ST_OK)
        job.value = job.bytes_dma;
    job.run_ns = now_ns() - begin;
}

} // namespace ai0::npu
