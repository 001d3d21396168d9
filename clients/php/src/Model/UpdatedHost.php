<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UpdatedHost
{
    public function __construct(
        public readonly string $name,
        public readonly DeploymentHostsState $state,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            state: $fields->enum('state', DeploymentHostsState::class),
        );
    }
}
