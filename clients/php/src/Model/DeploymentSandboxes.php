<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class DeploymentSandboxes
{
    public function __construct(
        public readonly string $state,
        public readonly int $count,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            state: $fields->string('state'),
            count: $fields->int('count'),
        );
    }
}
