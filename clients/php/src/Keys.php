<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Sandlot\Http\Api;
use Sandlot\Model\CreatedKey;
use Sandlot\Model\CreateKey;
use Sandlot\Model\Key;
use Sandlot\Model\Operation;
use Sandlot\Model\Scope;

/** API keys of the key's user. */
final class Keys
{
    /** @internal */
    public function __construct(private readonly Api $api)
    {
    }

    /** @return list<Key> */
    public function list(): array
    {
        return $this->api->call(Operation::ListKeys)->objects('keys', Key::read(...));
    }

    /**
     * Creates a key. Only this answer has the key itself.
     *
     * @param list<Scope> $scopes
     * @param list<string>|null $teams default: the teams of the key that you use
     */
    public function create(
        array $scopes,
        ?string $name = null,
        ?array $teams = null,
        ?\DateTimeInterface $expiresAt = null,
    ): CreatedKey {
        $wish = new CreateKey(scopes: $scopes, name: $name, teams: $teams, expiresAt: $expiresAt);
        return CreatedKey::read($this->api->call(Operation::CreateKey, body: $wish));
    }

    public function revoke(string $id): void
    {
        $this->api->call(Operation::RevokeKey, ['id' => $id]);
    }
}
