<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Sandlot\Http\Api;
use Sandlot\Model\Limits;
use Sandlot\Model\Me;
use Sandlot\Model\Members;
use Sandlot\Model\Operation;
use Sandlot\Model\Team;
use Sandlot\Model\Usage;

/** The key's user, and the limits and the usage of the teams. */
final class Account
{
    /** @internal */
    public function __construct(private readonly Api $api)
    {
    }

    public function me(): Me
    {
        return Me::read($this->api->call(Operation::ShowMe));
    }

    /** @return list<Team> */
    public function teams(): array
    {
        return $this->api->call(Operation::ListTeams)->objects('teams', Team::read(...));
    }

    public function limits(?string $team = null): Limits
    {
        return Limits::read($this->api->call(Operation::ShowLimits, query: ['team' => $team]));
    }

    /** Returns the usage of a team; default: since the first of this month. */
    public function usage(?string $team = null, ?\DateTimeInterface $from = null, ?\DateTimeInterface $to = null): Usage
    {
        $query = ['team' => $team, 'from' => Members::time($from), 'to' => Members::time($to)];
        return Usage::read($this->api->call(Operation::ShowUsage, query: $query));
    }
}
