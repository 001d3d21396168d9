<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class DeploymentMoves
{
    /**
     * @param string $kind checkpoint, volume, template, or sandbox: one that runs.
     * @param string $state copying, copied (waits for others of the same move), clearing (deletes the old copy), or
     *   failed.
     */
    public function __construct(
        public readonly string $kind,
        public readonly string $state,
        public readonly int $count,
        public readonly string $lastError,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            kind: $fields->string('kind'),
            state: $fields->string('state'),
            count: $fields->int('count'),
            lastError: $fields->string('last_error'),
        );
    }
}
