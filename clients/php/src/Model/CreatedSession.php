<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CreatedSession
{
    /**
     * @param string $id Identifier.
     * @param int|null $port null: the token is not bound to a port.
     */
    public function __construct(
        public readonly string $id,
        public readonly Lifetime $lifetime,
        public readonly Purpose $purpose,
        public readonly ?int $port,
        public readonly Session $session,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            lifetime: $fields->enum('lifetime', Lifetime::class),
            purpose: $fields->enum('purpose', Purpose::class),
            port: $fields->intOrNull('port'),
            session: $fields->object('session', Session::read(...)),
        );
    }
}
