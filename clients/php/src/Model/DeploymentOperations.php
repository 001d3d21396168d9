<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class DeploymentOperations
{
    /** @param int $overdue Those that have lost their worker. */
    public function __construct(
        public readonly string $kind,
        public readonly int $running,
        public readonly int $overdue,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            kind: $fields->string('kind'),
            running: $fields->int('running'),
            overdue: $fields->int('overdue'),
        );
    }
}
