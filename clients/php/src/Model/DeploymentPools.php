<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class DeploymentPools
{
    /** @param int $serving Those that serve a team's request at the moment. */
    public function __construct(
        public readonly string $name,
        public readonly int $workers,
        public readonly int $serving,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            workers: $fields->int('workers'),
            serving: $fields->int('serving'),
        );
    }
}
