<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class DeploymentWebhooks
{
    /** @param int $behind Messages that are to be sent again. */
    public function __construct(
        public readonly int $behind,
        public readonly int $deadLetters,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            behind: $fields->int('behind'),
            deadLetters: $fields->int('dead_letters'),
        );
    }
}
