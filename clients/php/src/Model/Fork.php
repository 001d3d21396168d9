<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** The result of one fork: a sandbox, or an error. */
final class Fork
{
    public function __construct(
        public readonly ?Sandbox $sandbox,
        public readonly ?ForkFailure $error,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            sandbox: $fields->objectOrNull('sandbox', Sandbox::read(...)),
            error: $fields->objectOrNull('error', ForkFailure::read(...)),
        );
    }
}
