<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UpdateHost implements \JsonSerializable
{
    /** @param DeploymentHostsState $state A draining host takes nothing new; its present sandboxes stay. */
    public function __construct(
        public readonly DeploymentHostsState $state,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'state' => $this->state,
        ]);
    }
}
