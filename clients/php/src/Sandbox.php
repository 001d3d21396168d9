<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Sandlot\Command\Commands;
use Sandlot\File\Files;
use Sandlot\Http\Access;
use Sandlot\Http\Api;
use Sandlot\Http\DataPlanes;
use Sandlot\Model\Checkpoint;
use Sandlot\Model\CreateCheckpoint;
use Sandlot\Model\CreateSession;
use Sandlot\Model\Fields;
use Sandlot\Model\HoldSandbox;
use Sandlot\Model\Lifetime;
use Sandlot\Model\LifecycleRequest;
use Sandlot\Model\Members;
use Sandlot\Model\Metrics;
use Sandlot\Model\Operation;
use Sandlot\Model\PauseSandbox;
use Sandlot\Model\Purpose;
use Sandlot\Model\ResumeSandbox;
use Sandlot\Model\RollbackSandbox;
use Sandlot\Model\SandboxState;
use Sandlot\Model\Service;
use Sandlot\Model\Session;
use Sandlot\Model\UpdateSandbox;
use Sandlot\Network\Policy;
use Sandlot\Preview\Previews;

/** One sandbox, with its commands, files, previews and network. */
final class Sandbox
{
    public readonly string $id;
    public readonly Commands $commands;
    public readonly Files $files;
    public readonly Previews $previews;
    public readonly Policy $network;

    private readonly Access $access;

    /** @internal */
    public function __construct(
        private readonly Api $api,
        DataPlanes $planes,
        private Model\Sandbox $info,
        ?Session $session,
    ) {
        $this->id = $info->id;
        $this->access = new Access(fn (): Session => $this->newSession(Lifetime::Session), $session);
        $plane = $planes->of($this->access);
        $this->commands = new Commands($plane);
        $this->files = new Files($plane);
        $this->previews = new Previews($api, $this->id);
        $this->network = new Policy($api, $this->id);
    }

    /** Returns the data of the last answer, without a request. */
    public function info(): Model\Sandbox
    {
        return $this->info;
    }

    /** Loads the data again. */
    public function refresh(): self
    {
        return $this->take($this->api->call(Operation::ShowSandbox, $this->path()));
    }

    /** Moves the deadline to this many seconds from now, never earlier. In a pause, it sets the time of the resume. */
    public function extend(int $seconds): self
    {
        $state = $this->refresh()->info->state;
        if ($state === SandboxState::Ready || $state === SandboxState::Checkpointing) {
            return $this->resume(timeout: $seconds, extendOnly: true);
        }
        return $seconds > $this->info->timeout ? $this->setTimeout($seconds) : $this;
    }

    /** Moves the deadline to this many seconds from now, also if that is earlier. */
    public function setTimeout(int $seconds): self
    {
        return $this->update(timeout: $seconds);
    }

    /**
     * @param array<string, mixed>|null $metadata merged into the present entries; null removes a key
     * @param int|null $timeout new deadline, in seconds from now
     * @param string|null $maskRequestHost the Host header for its servers; "": the preview's name
     * @param string|null $name new name; "": no name
     */
    public function update(
        ?array $metadata = null,
        ?int $timeout = null,
        ?LifecycleRequest $lifecycle = null,
        ?bool $allowPublicTraffic = null,
        ?string $maskRequestHost = null,
        ?string $name = null,
    ): self {
        $change = new UpdateSandbox(...get_defined_vars());
        return $this->take($this->api->call(Operation::UpdateSandbox, $this->path(), body: $change));
    }

    /** @param bool|null $memory false: keep only the disk; all programs end */
    public function pause(?bool $memory = null): self
    {
        return $this->take($this->api->call(Operation::PauseSandbox, $this->path(), body: new PauseSandbox($memory)));
    }

    /**
     * Resumes a paused sandbox. For a running sandbox, moves the deadline only.
     *
     * @param int|null $timeout seconds from now
     * @param bool|null $extendOnly true: never move the deadline to an earlier time
     * @param bool|null $memory false: start from the disk, without the saved memory
     */
    public function resume(?int $timeout = null, ?bool $extendOnly = null, ?bool $memory = null): self
    {
        $wish = new ResumeSandbox(...get_defined_vars());
        $resumed = $this->api->call(Operation::ResumeSandbox, $this->path(), body: $wish);
        $this->access->set($resumed->object('session', Session::read(...)));
        $this->info = $resumed->object('sandbox', Model\Sandbox::read(...));
        return $this;
    }

    /**
     * Until then sandlot does not pause it for being idle (`idleTimeout` of its lifecycle). Its deadline stays.
     *
     * @param int $seconds from now
     */
    public function hold(int $seconds): self
    {
        return $this->take($this->api->call(Operation::HoldSandbox, $this->path(), body: new HoldSandbox($seconds)));
    }

    /** End the hold. */
    public function release(): self
    {
        return $this->take($this->api->call(Operation::ReleaseSandbox, $this->path()));
    }

    /**
     * Replaces the disk by a checkpoint of this sandbox, and the memory too if the checkpoint has it.
     *
     * @param string $checkpoint its id or name
     * @param int|null $timeout seconds from now
     */
    public function rollback(string $checkpoint, ?int $timeout = null): self
    {
        $wish = new RollbackSandbox($checkpoint, $timeout);
        return $this->take($this->api->call(Operation::RollbackSandbox, $this->path(), body: $wish));
    }

    /** @return list<Service> services of its template and of its create; the sandbox must run */
    public function services(): array
    {
        return $this->api->call(Operation::ListServices, $this->path())->objects('services', Service::read(...));
    }

    /** Stop a service if it runs, and start it. */
    public function restartService(string $name): void
    {
        $this->api->call(Operation::RestartService, [...$this->path(), 'service' => $name]);
    }

    public function delete(): void
    {
        $this->api->call(Operation::DeleteSandbox, $this->path());
    }

    /**
     * Copies the disk, so that you can create sandboxes from it. The copy stays when the sandbox is deleted.
     *
     * @param string|null $name an existing name gets a new version; null: the service makes a name
     */
    public function checkpoint(?string $name = null): Checkpoint
    {
        $wish = new CreateCheckpoint($name);
        return Checkpoint::read($this->api->call(Operation::CreateCheckpoint, $this->path(), body: $wish));
    }

    /** Returns the use of processors, memory and disk; default: of the last hour. */
    public function metrics(?\DateTimeInterface $from = null, ?\DateTimeInterface $to = null): Metrics
    {
        $span = ['from' => Members::time($from), 'to' => Members::time($to)];
        return Metrics::read($this->api->call(Operation::ShowMetrics, $this->path(), $span));
    }

    /** Returns the present session. The library renews it before it ends. */
    public function session(): Session
    {
        return $this->access->session();
    }

    /** Makes an access token for others: for a time or the sandbox's life, for all calls or only previews. */
    public function newSession(Lifetime $lifetime, Purpose $purpose = Purpose::Sandbox): Session
    {
        return $this->api
            ->call(Operation::CreateSession, $this->path(), body: new CreateSession($lifetime, $purpose))
            ->object('session', Session::read(...));
    }

    /** End all access tokens of the sandbox. */
    public function endSessions(): void
    {
        $this->api->call(Operation::EndSessions, $this->path());
    }

    /** @return array<string, string> */
    private function path(): array
    {
        return ['id' => $this->id];
    }

    private function take(Fields $fields): self
    {
        $this->info = Model\Sandbox::read($fields);
        return $this;
    }
}
