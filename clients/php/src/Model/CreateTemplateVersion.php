<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CreateTemplateVersion implements \JsonSerializable
{
    /**
     * @param string|null $team Slug; default: the personal team of the key's user, or else the only one that the key
     *   reaches.
     * @param string|null $checkpointId A checkpoint of the team. Give this or image.
     * @param string|null $image An image that the operator has opened to teams. Give this or checkpoint_id.
     * @param RuntimeBaselineRequest|null $runtimeBaseline Default: that of the checkpoint, or of the plan.
     */
    public function __construct(
        public readonly ?string $team = null,
        public readonly ?string $checkpointId = null,
        public readonly ?string $image = null,
        public readonly ?RuntimeBaselineRequest $runtimeBaseline = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'team' => $this->team,
            'checkpoint_id' => $this->checkpointId,
            'image' => $this->image,
            'runtime_baseline' => $this->runtimeBaseline,
        ]);
    }
}
