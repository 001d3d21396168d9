<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Tests;

use Sandlot\Exception\Api\NameTakenException;
use Sandlot\Model\BuildState;
use Sandlot\Model\Checkpoint;
use Sandlot\Model\ExposedPortRequest;
use Sandlot\Model\LifecycleRequest;
use Sandlot\Model\Lifetime;
use Sandlot\Model\OnTimeout;
use Sandlot\Model\ResumedFrom;
use Sandlot\Model\SandboxState;
use Sandlot\Model\ServiceRequest;
use Sandlot\Model\ServiceState;
use Sandlot\Model\StateFilter;

/** The life of a sandbox. */
final class SandboxTest extends ServiceTestCase
{
    public function testFromCreateToDelete(): void
    {
        $mark = bin2hex(random_bytes(8));
        $sandbox = self::client()->sandboxes->create(
            timeout: 600,
            lifecycle: new LifecycleRequest(onTimeout: OnTimeout::Pause, autoResume: true),
            metadata: ['mark' => $mark, 'number' => 42],
            allowOut: ['api.example.com:443'],
            exposedPorts: [new ExposedPortRequest(port: 3000, public: false)],
        );
        $info = $sandbox->info();
        $this->assertSame(SandboxState::Ready, $info->state);
        $this->assertSame(['mark' => $mark, 'number' => '42'], $info->metadata);
        $this->assertTrue($info->lifecycle->autoResume);
        $this->assertSame(OnTimeout::Pause, $info->lifecycle->onTimeout);
        $this->assertSame(['api.example.com:443'], $info->network->allowOut);
        $this->assertFalse($info->exposedPorts[0]->public);

        $before = $info->deadline;
        $this->assertGreaterThan($before, $sandbox->extend(1200)->info()->deadline);
        $sandbox->update(metadata: ['number' => null, 'more' => 'yes']);
        $this->assertSame(['mark' => $mark, 'more' => 'yes'], $sandbox->refresh()->info()->metadata);

        $sandbox->files->write('kept', 'still here');
        $this->assertSame(SandboxState::Stopped, $sandbox->pause()->info()->state);
        $found = [...self::client()->sandboxes->list(metadata: ['mark' => $mark], states: [StateFilter::Paused])];
        $this->assertSame([$sandbox->id], array_column($found, 'id'));
        $from = $sandbox->resume(timeout: 300)->info()->resumedFrom;
        $this->assertContains($from, [ResumedFrom::Memory, ResumedFrom::Disk]);
        // Another object of the same sandbox has no session yet: it gets one when it needs it.
        $this->assertSame('still here', self::client()->sandboxes->get($sandbox->id)->files->read('kept'));

        $sandbox->delete();
        $this->assertSame([], [...self::client()->sandboxes->list(metadata: ['mark' => $mark])]);
    }

    public function testNames(): void
    {
        $sandboxes = self::client()->sandboxes;
        $name = 'n' . bin2hex(random_bytes(8));
        $sandbox = $sandboxes->create(timeout: 600, name: $name);
        try {
            $this->assertSame($name, $sandbox->info()->name);
            $this->assertSame($sandbox->id, $sandboxes->find($name)?->id);
            try {
                $sandboxes->create(timeout: 60, name: $name);
                $this->fail('two sandboxes have one name');
            } catch (NameTakenException $taken) {
                $this->assertSame('/name', $taken->field);
            }
            $checkpoint = $sandbox->checkpoint("{$name}.c");
            $this->assertSame($name, $checkpoint->sandboxName);
            $this->assertSame($checkpoint->id, self::client()->checkpoints->get("{$name}.c")->id);
            self::client()->checkpoints->delete("{$name}.c:1");
            $this->assertSame([], [...self::client()->checkpoints->list(name: "{$name}.c")]);
            $this->assertSame("{$name}-2", $sandbox->update(name: "{$name}-2")->info()->name);
            $this->assertNull($sandboxes->find($name));
            $this->assertNull($sandbox->update(name: '')->info()->name);
        } finally {
            $sandbox->delete();
        }
    }

    public function testAHold(): void
    {
        $sandbox = self::client()->sandboxes->create(timeout: 600);
        $this->assertGreaterThan(new \DateTimeImmutable('+30 minutes'), $sandbox->hold(3600)->info()->holdUntil);
        $this->assertNull($sandbox->release()->info()->holdUntil);
        $sandbox->delete();
    }

    public function testServicesStartAgain(): void
    {
        $sandbox = self::client()->sandboxes->create(services: [new ServiceRequest('web', 'exec sleep 1000')]);
        $first = $sandbox->services()[0];
        $this->assertSame(['web', ServiceState::Running], [$first->name, $first->state]);
        $sandbox->restartService('web');
        for ($i = 0; $i < 100 && in_array($sandbox->services()[0]->pid, [$first->pid, null], true); $i++) {
            usleep(100_000);
        }
        $this->assertSame(1, $sandbox->services()[0]->restarts);
        $sandbox->delete();
    }

    public function testExtendNeverShortens(): void
    {
        $sandbox = self::client()->sandboxes->create(timeout: 1200);
        $before = $sandbox->info()->deadline;
        $this->assertEquals($before, $sandbox->extend(60)->info()->deadline);
        $this->assertSame(SandboxState::Stopped, $sandbox->pause()->extend(60)->info()->state);
        $this->assertSame(1200, $sandbox->info()->timeout);
        $this->assertSame(1500, $sandbox->extend(1500)->info()->timeout);
        $this->assertLessThan($before, $sandbox->resume()->setTimeout(300)->info()->deadline);
        $sandbox->delete();
    }

    public function testPagesAreAskedForAsTheyAreNeeded(): void
    {
        $mark = bin2hex(random_bytes(8));
        $made = [];
        for ($i = 0; $i < 3; $i++) {
            $made[] = self::client()->sandboxes->create(timeout: 300, metadata: ['mark' => $mark]);
        }
        try {
            $listed = [];
            foreach (self::client()->sandboxes->list(metadata: ['mark' => $mark], pageSize: 2) as $index => $sandbox) {
                $listed[$index] = $sandbox->id;
            }
            $this->assertSame(array_reverse(array_column($made, 'id')), $listed);
        } finally {
            array_walk($made, static fn ($sandbox) => $sandbox->delete());
        }
    }

    public function testOneKeyMakesOneSandbox(): void
    {
        $key = 'job-' . bin2hex(random_bytes(8));
        $one = self::client()->sandboxes->create(timeout: 300, idempotencyKey: $key);
        $same = self::client()->sandboxes->create(timeout: 300, idempotencyKey: $key);
        $this->assertSame($one->id, $same->id);
        $one->delete();
    }

    public function testACheckpointAndWhatIsMadeOfIt(): void
    {
        self::sandbox()->files->write('of-the-checkpoint', 'then');
        $checkpoint = self::sandbox()->checkpoint('then');
        $listed = [...self::client()->checkpoints->list(sandboxId: self::sandbox()->id)];
        $this->assertEquals([$checkpoint->id], array_column($listed, 'id'));
        $this->assertSame('then', self::client()->checkpoints->get($checkpoint->id)->name);
        $copy = self::client()->sandboxes->create(timeout: 300, snapshotId: $checkpoint->id);
        $this->assertSame('then', $copy->files->read('of-the-checkpoint'));
        $copy->files->write('of-the-checkpoint', 'later');
        $this->assertSame($checkpoint->id, $copy->rollback('then', timeout: 300)->info()->snapshotId);
        $this->assertSame('then', $copy->files->read('of-the-checkpoint'));
        $copy->delete();
        $this->templateOf($checkpoint);
        self::client()->checkpoints->delete($checkpoint->id);
        $this->assertSame([], [...self::client()->checkpoints->list(sandboxId: self::sandbox()->id)]);
    }

    private function templateOf(Checkpoint $checkpoint): void
    {
        $templates = self::client()->templates;
        $slug = 't' . bin2hex(random_bytes(6));
        $made = $templates->create($slug, checkpointId: $checkpoint->id);
        $this->assertSame($slug, $made->slug);
        $build = $templates->waitUntilBuilt($slug, $made->version->version);
        $this->assertSame(BuildState::Ready, $build->state, $build->log);
        $this->assertSame($checkpoint->id, $build->checkpointId);
        $this->assertContains($slug, array_column($templates->list(), 'slug'));
        $templates->delete($slug);
    }

    public function testATokenThatIsNoLongerGoodIsRenewed(): void
    {
        $lasting = self::sandbox()->newSession(Lifetime::Sandbox);
        $this->assertNull($lasting->expiresAt);
        $set = \Closure::bind(fn () => $this->access->set($lasting), self::sandbox(), self::sandbox()::class);
        $set();
        $this->assertSame($lasting->accessToken, self::sandbox()->session()->accessToken);
        self::sandbox()->endSessions();
        $this->assertSame("hello\n", self::sandbox()->commands->run('echo $GREETING')->stdout);
        $this->assertNotSame($lasting->accessToken, self::sandbox()->session()->accessToken);
    }

    public function testMetrics(): void
    {
        $from = new \DateTimeImmutable('-10 minutes', new \DateTimeZone('Asia/Tokyo'));
        $metrics = self::sandbox()->metrics(from: $from);
        $this->assertSame(self::sandbox()->id, $metrics->sandbox);
        $this->assertSame(self::sandbox()->info()->memoryMb, $metrics->memoryMb);
    }
}
