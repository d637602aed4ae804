/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text detection of PP-OCRv4: the model gives each pixel's probability to be text
 * ("differentiable binarization", DB); boxes are made of it here.
 */
#pragma once

#include <span>
#include <vector>

#include <opencv2/core.hpp>

#include <ai/result.h>

#include "quad.h"
#include "runner.h"

namespace ai_ocr {

/* The values that PP-OCRv4 is published with. */
struct DetectorOptions {
    int longest_side = 960;       /* larger pictures are made smaller for the model */
    float pixel_threshold = 0.3F; /* a pixel is text from here on */
    float box_threshold = 0.6F;   /* mean probability inside a box */
    double unclip_ratio = 1.5;    /* text is larger than the core the model sees */
    float smallest_side = 3;      /* pixels of the probability map */
    std::size_t most_boxes = 1000;
};

/* The size at which the model sees a picture: sides are multiples of 32. */
cv::Size detector_size(cv::Size picture, const DetectorOptions& options);

/* A resized picture, 8-bit BGR, as the model takes it: planes, normalised. */
void normalise_for_detection(const cv::Mat& picture, std::span<float> planes);

/* Boxes in the coordinates of a picture of size @picture. */
std::vector<Quad> find_boxes(const cv::Mat& probability, cv::Size picture,
                             const DetectorOptions& options);

class Detector {
public:
    explicit Detector(RunnerModel& model, const DetectorOptions& options = {})
        : model_(model), options_(options)
    {
    }

    struct Found {
        std::vector<Quad> boxes; /* in reading order */
        ai::Record record;
    };
    ai::Result<Found> detect(const cv::Mat& picture);

private:
    RunnerModel& model_;
    DetectorOptions options_;
};

} // namespace ai_ocr
