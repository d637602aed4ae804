/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a model.
 *
 *     auto session = ai::Session::open().or_throw();
 *     auto model = ai::Model::load_file(session, "model.onnx").or_throw();
 *     auto input = ai::Tensor::allocate(session, ai::DType::kFloat32,
 *                                       ai::Shape(1, 3, 224, 224)).or_throw();
 *     std::ranges::fill(input.span<float>().value(), 0.5F);
 *     auto result = ai::infer(model, {&input, 1}).or_throw();
 *     std::span<float> scores = result.outputs[0].span<float>().value();
 */
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <ai/contract.h>
#include <ai/export.h>
#include <ai/model.h>
#include <ai/result.h>
#include <ai/tensor.h>
#include <ai/types.h>

namespace ai {

/* Where and how an inference ran. */
struct Record {
    std::uint64_t job = 0; /* the same as in the trace events; 0: no job was made */
    DeviceId device{};
    std::string device_name;
    std::string firmware;
    std::uint32_t generation = 0; /* of the device when the job ended */
    Nanoseconds queue{};          /* from submission until the device took it */
    Nanoseconds run{};            /* from then until the device was done */
    Bytes cpu_copied;             /* tensor data that the CPU copied on its way */
    Bytes dma_moved;              /* tensor data that a DMA engine moved */
    Bytes in_place;               /* tensor data the engine used where it is */
    LogicalAddress fault{};       /* what the device could not reach, 0 if nothing */
    bool late = false;            /* ended after its deadline */
    bool rerun = false;           /* ran again after a reset that another job caused */
    bool throttled = false;       /* the device was throttled while it ran */
    /* Only of a result under a contract: */
    Service service = Service::kNone;
    std::uint32_t broken = 0; /* bits 1 << Term of the terms that were broken */
    Term moved = Term::kNone; /* why it ran on the contract's fallback */
    Nanoseconds latency{};    /* from submission to the end */
    Energy energy{};          /* the device's power over the time it was busy with it */

    /* Whether @term was broken. */
    bool broke(Term term) const { return (broken >> static_cast<std::uint32_t>(term) & 1) != 0; }
};

struct InferOptions {
    /* Orders jobs of equal priority; one not started by then ends with ETIME. */
    std::optional<Clock::time_point> deadline = std::nullopt;
    /* The call ends with ETIME after this time. 0: the device's own time-out. */
    Nanoseconds timeout{0};
    /* 0 to 7; higher goes first. Above 3 the caller needs CAP_SYS_NICE, else EPERM. */
    std::uint32_t priority = 0;
    /* For cancel() and the trace. Without one the library takes a fresh number. */
    std::optional<std::uint64_t> cookie = std::nullopt;
    /*
     * A stop request ends the job with ECANCELED. request_stop() then returns when
     * the job has been told to end. All jobs with the same cookie end with it.
     */
    std::stop_token stop{};
    /* The contract that it belongs to; not owned, null: none. */
    const Contract* contract = nullptr;
    /* Where the record goes, also when the call fails; may be null. */
    Record* record = nullptr;
};

struct Completion {
    Record record;
};

/*
 * Runs @model once and waits for the result. @inputs and @outputs are in the model's
 * order and all of them. Shapes of @outputs are set from the result. When one is too
 * small the call fails with ENOSPC and Tensor::needed() says how many bytes each
 * takes. Other errors: see uapi/ai.h.
 *
 * Blocks until the job has ended. Any number of calls may be made at once. The
 * memory of the outputs belongs to the device until the call returns; after ETIME
 * the job may write to it for as long as the device takes to stop.
 */
LIBAI_API Result<Completion> infer(const Model& model, std::span<const Tensor> inputs,
                                   std::span<Tensor> outputs, const InferOptions& options = {});

/*
 * The same, but makes room: an output that is missing or too small for what comes
 * gets a Buffer of its own, and the model runs again if that was found out by
 * running it. Give the same vector again and nothing is allocated while sizes stay.
 */
LIBAI_API Result<Completion> infer_into(const Model& model, std::span<const Tensor> inputs,
                                        std::vector<Tensor>& outputs,
                                        const InferOptions& options = {});

struct Inference {
    std::vector<Tensor> outputs;
    Record record;
};

/* The same with new outputs. The model remembers how large they became. */
LIBAI_API Result<Inference> infer(const Model& model, std::span<const Tensor> inputs,
                                  const InferOptions& options = {});

} // namespace ai
