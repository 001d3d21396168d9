<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Resumed
{
    public function __construct(
        public readonly Session $session,
        public readonly Sandbox $sandbox,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            session: $fields->object('session', Session::read(...)),
            sandbox: $fields->object('sandbox', Sandbox::read(...)),
        );
    }
}
