/* SPDX-License-Identifier: Apache-2.0 */
#include "ai_engine.h"

#include <ai/ai.h>

namespace ai_run {

namespace {

class AiModel final : public Engine::Model {
public:
    AiModel(ai::Model model, ai::Nanoseconds timeout) : model_(std::move(model)), timeout_(timeout)
    {
    }

    std::size_t input_count() const override { return model_.inputs().size(); }

    std::optional<std::size_t> input_index(std::string_view name) const override
    {
        return model_.input_index(name);
    }

    ai::Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs,
                                            ai::Record& record) override
    {
        std::vector<ai::Tensor> in;
        std::vector<HostTensor> outputs;

        for (const HostTensor& input : inputs) {
            ai::Result<ai::Tensor> tensor = to_device(model_.session(), input);
            if (!tensor)
                return std::move(tensor).error();
            in.push_back(std::move(*tensor));
        }
        ai::InferOptions options;
        options.timeout = timeout_;
        options.record = &record;
        ai::Result<ai::Inference> done = ai::infer(model_, in, options);
        if (!done)
            return std::move(done).error();
        for (std::size_t i = 0; i < done->outputs.size(); i++)
            outputs.push_back(from_device(done->outputs[i], model_.outputs()[i].name));
        return outputs;
    }

private:
    ai::Model model_;
    ai::Nanoseconds timeout_;
};

/* A case is named for its folder already. */
ai::Error without_path(ai::Error error, const std::string& path)
{
    if (error.message.starts_with(path + ": "))
        error.message.erase(0, path.size() + 2);
    return error;
}

} // namespace

AiEngine::AiEngine(ai::Session session, ai::DeviceId device, ai::Nanoseconds timeout)
    : session_(std::move(session)), device_(device), timeout_(timeout)
{
}

ai::Result<std::unique_ptr<Engine::Model>> AiEngine::load(const std::string& path)
{
    ai::LoadOptions options;

    options.device = device_;
    options.timeout = timeout_;
    ai::Result<ai::Model> model = ai::Model::load_file(session_, path, options);
    if (!model)
        return without_path(std::move(model).error(), path);
    return std::unique_ptr<Model>(std::make_unique<AiModel>(std::move(*model), timeout_));
}

} // namespace ai_run
